/**
 * The bar for all rows of a list that are ticked, at the bottom of the window: a plain form, whose tick boxes are in the rows
 * (`form="…"`). It is shown while something is ticked, says how many, and keeps ticks when rows are replaced.
 */

import { all, one } from "../pages/elements.js";

const MOST = 500;

/** An unchanged text is not set again: the page is watched for changes. @param {HTMLElement} element @param {string} words */
function say(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

class BulkBar {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.form = form;
    this.noun = form.dataset.bulk ?? "row";
    this.count = one(form, "[data-bulk-count]", HTMLElement);
    this.every = one(form, "[data-bulk-all]", HTMLButtonElement);
    // A browser restores ticks when somebody comes back to the page.
    const restored = this._boxes().filter(({ checked }) => checked);
    /** @type {Set<string>} */
    this.ticked = new Set(restored.map(({ value }) => value));
    document.addEventListener("change", (event) => this._changed(event));
    this.every.addEventListener("click", () => this._tickAll());
    // The address may have changed since the page was loaded.
    form.addEventListener("keydown", (event) => this._entered(event));
    form.addEventListener("submit", (event) => {
      if (this._lacks(event)) return event.preventDefault();
      const back = new URL(location.href);
      back.searchParams.delete("cursor");
      one(form, "[name=back]", HTMLInputElement).value = back.pathname + back.search;
    });
    this.show();
    new MutationObserver(() => this.show()).observe(one(document, "main", HTMLElement), { childList: true, subtree: true });
    this.every.hidden = false;
  }

  /** @returns {HTMLInputElement[]} */
  _boxes() {
    const boxes = all(document, `input[type=checkbox][form="${this.form.id}"]`);
    return boxes.filter((box) => box instanceof HTMLInputElement);
  }

  /** @param {Event} event */
  _changed({ target }) {
    if (!(target instanceof HTMLInputElement) || target.form !== this.form || target.type !== "checkbox") return;
    if (target.checked && this.ticked.size < MOST) this.ticked.add(target.value);
    else this.ticked.delete(target.value);
    this.show();
  }

  /** Enter in a field presses the field's own button. @param {KeyboardEvent} event */
  _entered(event) {
    const { target, key, isComposing } = event;
    if (key !== "Enter" || isComposing || !(target instanceof HTMLInputElement)) return;
    event.preventDefault();
    const own = target.closest(".stack, .joined")?.querySelector("button[type=submit]");
    if (own instanceof HTMLButtonElement) this.form.requestSubmit(own);
  }

  /** Says beside the field what a button needs. @param {SubmitEvent} event */
  _lacks({ submitter }) {
    const field = this.form.elements.namedItem(submitter?.dataset.needs ?? "");
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement) || field.value.trim()) return false;
    field.setCustomValidity(field.dataset.missing ?? "");
    field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
    return !field.reportValidity();
  }

  _tickAll() {
    const here = this._boxes().slice(0, MOST);
    const whole = this.ticked.size === here.length;
    this.ticked = new Set(whole ? [] : here.map(({ value }) => value));
    this.show();
  }

  /** Rows may have been replaced, which keep their ticks, or be gone. */
  show() {
    const here = this._boxes();
    for (const box of here) if (box.checked !== this.ticked.has(box.value)) box.checked = !box.checked;
    const left = new Set(here.map(({ value }) => value));
    for (const value of this.ticked) if (!left.has(value)) this.ticked.delete(value);
    const number = this.ticked.size;
    this.form.hidden = number === 0;
    say(this.count, `${number} ${this.noun}${number === 1 ? "" : "s"} selected`);
    say(this.every, number === Math.min(here.length, MOST) ? "Select none" : "Select all shown");
  }
}

for (const form of all(document, "form[data-bulk]")) if (form instanceof HTMLFormElement) new BulkBar(form);

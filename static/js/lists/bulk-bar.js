/**
 * The bar for all rows of a list that are ticked, at the bottom of the window: a plain form, whose tick boxes are in the rows
 * (`form="…"`). It is shown while something is ticked, says how many, and keeps ticks when rows are replaced, and when a filter hides them.
 */

import { all, composes, one } from "../pages/elements.js";

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
    /** Each with the filter under which its row was seen last; null: another filter hides it. @type {Map<string, string | null>} */
    this.ticked = new Map(restored.map(({ value }) => [value, location.search]));
    document.addEventListener("change", (event) => this._changed(event));
    this.every.addEventListener("click", () => this._tickAll());
    // The address may have changed since the page was loaded.
    form.addEventListener("keydown", (event) => this._entered(event));
    form.addEventListener("formdata", ({ formData }) => {
      for (const value of this._hidden()) formData.append(form.dataset.field ?? "", value);
    });
    form.addEventListener("submit", (event) => {
      if (this._lacks(event)) return event.preventDefault();
      const back = new URL(location.href);
      back.searchParams.delete("cursor");
      one(form, "[name=back]", HTMLInputElement).value = back.pathname + back.search;
    });
    this.show();
    form.classList.add("ready");
    new MutationObserver(() => this.show()).observe(one(document, "main", HTMLElement), { childList: true, subtree: true });
    this.every.hidden = false;
  }

  /** @returns {HTMLInputElement[]} */
  _boxes() {
    const boxes = all(document, `input[type=checkbox][form="${this.form.id}"]`);
    return boxes.filter((box) => box instanceof HTMLInputElement);
  }

  _hidden() {
    const here = new Set(this._boxes().map(({ value }) => value));
    return [...this.ticked.keys()].filter((value) => !here.has(value));
  }

  /** @param {Event} event */
  _changed({ target }) {
    if (!(target instanceof HTMLInputElement) || target.form !== this.form || target.type !== "checkbox") return;
    if (target.checked && this.ticked.size < MOST) this.ticked.set(target.value, location.search);
    else this.ticked.delete(target.value);
    this.show();
  }

  /** Enter in a field presses the field's own button. @param {KeyboardEvent} event */
  _entered(event) {
    const { target, key } = event;
    if (key !== "Enter" || composes(event) || !(target instanceof HTMLInputElement)) return;
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

  /** What "Select all shown" would still tick. */
  _left() {
    const open = this._boxes().filter(({ value }) => !this.ticked.has(value));
    return open.slice(0, MOST - this.ticked.size);
  }

  _tickAll() {
    const left = this._left();
    if (!left.length) this.ticked.clear();
    for (const { value } of left) this.ticked.set(value, location.search);
    this.show();
  }

  /** Rows may have been replaced, which keep their ticks, or be gone, or hidden by another filter. */
  show() {
    const here = this._boxes();
    for (const box of here) if (box.checked !== this.ticked.has(box.value)) box.checked = !box.checked;
    const shown = new Set(here.map(({ value }) => value));
    for (const [value, filter] of this.ticked) {
      if (shown.has(value)) this.ticked.set(value, location.search);
      else if (filter === location.search) this.ticked.delete(value);
      else this.ticked.set(value, null);
    }
    const number = this.ticked.size;
    const hidden = this._hidden().length;
    this.form.hidden = number === 0;
    const besides = hidden ? `, ${hidden} not shown` : "";
    say(this.count, `${number} ${this.noun}${number === 1 ? "" : "s"} selected${besides}`);
    say(this.every, this._left().length ? "Select all shown" : "Select none");
  }
}

for (const form of all(document, "form[data-bulk]")) if (form instanceof HTMLFormElement) new BulkBar(form);

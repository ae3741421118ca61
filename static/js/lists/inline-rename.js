/**
 * Renames a row's object where its title is: by its button, by `e`, or by a double click beside the links. Enter saves, Escape
 * gives up. It sends the form that the row has for pages without scripts.
 */

import { all, around, composes, focusOn, one } from "../pages/elements.js";
import { toast } from "../pages/toasts.js";
import { send } from "./sending.js";

const UNTITLED = "Untitled session";
const OTHERS = "a, button, input, select, textarea, summary, label, form, details";

/** One title that is being written. */
class Renaming {
  /** @param {HTMLElement} row */
  constructor(row) {
    this.row = row;
    this.title = one(row, ".title", HTMLElement);
    this.form = one(row, "form[data-rename-form]", HTMLFormElement);
    this.stored = one(this.form, "input[name=title]", HTMLInputElement);
    this.seen = one(this.form, "input[name=seen]", HTMLInputElement);
    this.field = document.createElement("input");
    this.field.id = `rename-${row.id}`;
    this.field.className = "inline-title";
    this.field.dir = "auto";
    this.field.maxLength = this.stored.maxLength;
    this.field.value = this.stored.value;
    if (!this.stored.value) this.field.placeholder = this.title.textContent ?? "";
    this.field.setAttribute("aria-label", "Title");
    this.field.autocomplete = "off";
    this.ended = false;
    /** They know of a title that somebody else gave meanwhile. */
    this.told = false;
  }

  begin() {
    this.row.dataset.editing = "";
    this.title.hidden = true;
    this.title.before(this.field);
    this.field.select();
    this.field.focus();
    this.field.addEventListener("keydown", (event) => this._pressed(event));
    this.field.addEventListener("blur", () => this.save(false));
  }

  /** @param {KeyboardEvent} event */
  _pressed(event) {
    if (composes(event) || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Enter") this.save(true);
    else this.end(true);
  }

  /** @param {boolean} refocus */
  end(refocus) {
    // A field that is removed loses the focus, which would save what was given up.
    this.ended = true;
    delete this.row.dataset.editing;
    this.title.hidden = false;
    this.field.remove();
    if (refocus) focusOn(this.title);
  }

  /** @param {boolean} refocus */
  async save(refocus) {
    // Somebody else's title is replaced on purpose only.
    if (this.ended || this.field.readOnly || (this.told && !refocus)) return;
    const words = this.field.value.trim();
    if (words === this.stored.value) return this.end(refocus);
    this.field.readOnly = true;
    const body = new FormData(this.form);
    body.set("title", words);
    const { problem, seen } = await send(this.form, body);
    this.field.readOnly = false;
    if (seen !== undefined) this.seen.value = seen;
    this.told = seen !== undefined;
    if (problem) return toast(problem, { error: true });
    this.stored.value = words;
    this.stored.defaultValue = words;
    this.seen.value = words;
    const [former, present] = [this.title.textContent ?? "", words || UNTITLED];
    this.title.textContent = present;
    // Screen readers hear it in the names of the row's buttons.
    for (const name of all(this.row, ".visually-hidden")) {
      name.textContent = (name.textContent ?? "").replace(former, () => present);
    }
    this.end(refocus);
    toast("Renamed.");
  }
}

/** @param {HTMLElement} row */
function edit(row) {
  if (!row.hasAttribute("data-editing")) new Renaming(row).begin();
}

document.addEventListener("click", (event) => {
  const row = around(event, "[data-rename]")?.closest("li");
  if (row) edit(row);
});
document.addEventListener("dblclick", (event) => {
  const row = around(event, ".list > li");
  if (!row?.querySelector("[data-rename]") || around(event, OTHERS)) return;
  getSelection()?.removeAllRanges();
  edit(row);
});

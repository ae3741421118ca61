/**
 * Parts of a page that change by themselves. `data-parts` on the element around them is the address that answers them as
 * they are now; each part has `data-part` and an id. What did not change is not touched; open folds, focus, scroll and
 * what somebody is writing stay.
 */

import { whenSeen } from "./follow.js";

const SECRET = /name="csrfmiddlewaretoken" value="[^"]*"/g;
const FIELDS = "input:not([type=hidden]), textarea, select";
const GENTLE_MS = 4000;
const shown = new WeakMap();

const written = (field) => field.matches("[type=checkbox], [type=radio], select") ? false : field.value !== field.defaultValue;

export class Parts {
  /** @param {HTMLElement} root @param {{failed?: () => void, placed?: () => void}} [options] */
  constructor(root, { failed, placed } = {}) {
    Object.assign(this, { root, failed, placed });
    this.busy = 0;
    this._look = whenSeen(() => this._refresh());
    document.body.addEventListener("changed", () => this.refresh());
    // A form that was sent stays until its answer was heard.
    root.addEventListener("htmx:beforeRequest", () => (this.busy += 1));
    root.addEventListener("htmx:afterRequest", ({ detail: { elt, xhr } }) => {
      // Nothing else says that it was saved: not an answer that never came, not the page that asks to sign in.
      if (elt.matches("form") && xhr.status === 204) done(elt);
      if (xhr.status === 412) this._putOne(xhr.responseText, elt.closest("[data-part]").id);
      this._free();
    });
    root.addEventListener("click", (event) => {
      if (!event.target.closest("[data-cancel]")) return;
      event.preventDefault();
      giveUp(event.target.closest("[data-part]"));
      this.refresh();
    });
    placed?.();
  }

  /** When somebody sees it: now, or once the tab is looked at again. */
  refresh() {
    this._look();
  }

  /** One read at a time; what is asked meanwhile is read after it. */
  async _refresh() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.again = this.busy > 0;
    if (this.again) return;
    this.busy += 1;
    await this._fetch();
    this._free();
  }

  _free() {
    this.busy -= 1;
    if (this.busy === 0 && this.again) this.refresh();
  }

  /** For what changes with every word of a stream: not at each of them. */
  refreshSoon() {
    this.timer ||= setTimeout(() => this.refresh(), GENTLE_MS);
  }

  async _fetch() {
    try {
      const reply = await fetch(this.root.dataset.parts, { headers: { "HX-Request": "true" } });
      if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
      const html = await reply.text();
      if (this.busy > 1) return void (this.again = true);
      this._put(html);
      this.placed?.();
    } catch {
      this.failed?.();
    }
  }

  _put(html) {
    const fresh = partsOf(html);
    const wanted = new Set(fresh.map(({ id }) => id));
    for (const part of [...this.root.querySelectorAll("[data-part]")]) if (!wanted.has(part.id) && !kept(part)) this._remove(part);
    const places = fresh.map((part) => ({ part, parent: part.parentElement?.id, before: part.previousElementSibling?.id }));
    for (const place of places) if (!kept(document.getElementById(place.part.id))) this._place(place);
  }

  /** A newer text, also where somebody is writing: their words go along. */
  _putOne(html, id) {
    const part = partsOf(html).find((one) => one.id === id);
    if (part) this._place({ part });
  }

  _remove(part) {
    const focused = part.contains(document.activeElement);
    part.remove();
    if (focused) this.root.focus({ preventScroll: true });
  }

  /** `parent` and `before` are the ids of what it stands in and after. */
  _place({ part, parent, before }) {
    const source = part.outerHTML.replace(SECRET, "");
    const standing = document.getElementById(part.id);
    if (standing && shown.get(standing) === source) return;
    shown.set(part, source);
    if (standing) replace(standing, part);
    else if (before && document.getElementById(before)) document.getElementById(before).after(part);
    else (document.getElementById(parent) ?? this.root).prepend(part);
    globalThis.htmx?.process(part);
  }
}

function partsOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  template.content.querySelectorAll("[data-copy], [data-copy-from]").forEach((button) => (button.hidden = false));
  return [...template.content.querySelectorAll("[data-part]")];
}

/* A part with `data-part="kept"` is not taken from under the hands of who writes in it. */
const kept = (part) => part?.dataset.part === "kept" && (part.hasAttribute("data-editing") || [...part.querySelectorAll("textarea")].some(written));

/** What was saved is no draft any more. A form with `data-done="reset"` is for the next one. */
function done(form) {
  if (form.dataset.done === "reset") form.reset();
  else for (const field of form.querySelectorAll("textarea")) field.defaultValue = field.value;
  giveUp(form.closest("[data-part]"));
  form.closest("details.edit:not([open])")?.querySelector("summary").focus();
}

function giveUp(part) {
  if (!part) return;
  part.removeAttribute("data-editing");
  shown.delete(part);
  for (const fold of part.querySelectorAll("details.edit")) fold.open = false;
  for (const field of part.querySelectorAll("textarea")) field.value = field.defaultValue;
}

function replace(standing, fresh) {
  const find = ({ id }) => id && fresh.querySelector(`#${CSS.escape(id)}`);
  for (const fold of standing.querySelectorAll("details[id]")) {
    const own = find(fold);
    if (own) own.open = fold.open;
  }
  for (const field of standing.querySelectorAll(FIELDS)) {
    const own = find(field);
    if (own && written(field)) own.value = field.value;
  }
  const scrolled = [...standing.querySelectorAll("[id]")].filter(({ scrollTop }) => scrollTop > 0);
  const heights = scrolled.map((part) => [part, part.scrollTop]);
  const focused = standing.contains(document.activeElement) ? document.activeElement : null;
  const selection = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  standing.replaceWith(fresh);
  for (const [part, height] of heights) if (find(part)) find(part).scrollTop = height;
  if (!focused) return;
  const heir = find(focused) || fresh.querySelector("[data-heir]") || fresh;
  heir.focus({ preventScroll: true });
  if (selection && heir !== fresh && heir.type !== "email") heir.setSelectionRange?.(...selection);
}

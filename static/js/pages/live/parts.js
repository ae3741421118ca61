/**
 * Parts of a page that are updated live. `data-parts` on the element around them is the address that returns their present
 * form; each part has `data-part` and an id. Unchanged parts are not touched; open folds, focus, scroll position and
 * half-written input stay.
 */

import { whyNot } from "../../forms/refusal.js";
import { all, around, focusOn, fragment } from "../elements.js";
import { whenSeen } from "./event-stream.js";
import { later } from "./reading.js";

/**
 * @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Field
 * @typedef {{part: HTMLElement, parent?: string, before?: string, told?: boolean}} Place `parent` and `before`: ids of its container and of
 *   what precedes it; `told`: the writer was told of what is new in it
 */

const SECRET = /name="csrfmiddlewaretoken" value="[^"]*"/g;
const FIELDS = "input:not([type=hidden]), textarea, select";
const GENTLE_MS = 4000;
const POLL_MS = 4000;
/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();

/** @param {ParentNode} root */
const textareasOf = (root) => /** @type {NodeListOf<HTMLTextAreaElement>} */ (root.querySelectorAll("textarea"));

/** @param {ParentNode} root */
const textsOf = (root) =>
  /** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */ (
    root.querySelectorAll("textarea, input[type=text], input:not([type])")
  );

/** Does it contain changed input? @param {Field} field */
function written(field) {
  if (field instanceof HTMLSelectElement || field.matches("[type=checkbox], [type=radio]")) return false;
  return field.value !== field.defaultValue;
}

export class LiveParts {
  /** @param {HTMLElement} root @param {{failed?: (why: string) => void, placed?: () => void}} [options] `why`: in words */
  constructor(root, { failed, placed } = {}) {
    this.root = root;
    this.failed = failed;
    this.placed = placed;
    this.busy = 0;
    this.again = false;
    this.timer = 0;
    /** Why the last read brought nothing. */
    this.why = "";
    this.later = later(() => this.refresh());
    /** htmx tells of a request again, on a parent, if its form was replaced meanwhile. @type {WeakSet<XMLHttpRequest>} */
    this.ended = new WeakSet();
    this._look = whenSeen(() => this._refresh());
    document.body.addEventListener("changed", () => this.refresh());
    // A form that was sent stays until its response arrives.
    root.addEventListener("htmx:beforeRequest", () => {
      this.busy += 1;
    });
    root.addEventListener("htmx:afterRequest", ({ detail: { elt, xhr } }) => {
      if (this.ended.has(xhr)) return;
      this.ended.add(xhr);
      // Only this counts as saved: not a missing response, not the sign-in page.
      if (elt instanceof HTMLFormElement && xhr.status === 204) done(elt);
      if (xhr.status === 412) this._putOne(xhr.responseText, elt.closest("[data-part]")?.id);
      this._free();
    });
    root.addEventListener("click", (event) => {
      if (!around(event, "[data-cancel]")) return;
      event.preventDefault();
      giveUp(around(event, "[data-part]"));
      this.refresh();
    });
    placed?.();
  }

  isHalfWritten() {
    /** @type {NodeListOf<Field>} */
    const fields = this.root.querySelectorAll(FIELDS);
    return [...fields].some(written);
  }

  /** When the page is visible: now, or when the tab is shown again. */
  refresh() {
    this._look();
  }

  /** One read at a time; a request meanwhile causes another read after it. */
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

  /** For changes that come with every word of a stream: not one read for each. */
  refreshSoon() {
    this.timer ||= setTimeout(() => this.refresh(), GENTLE_MS);
  }

  /** @returns {Promise<void>} */
  async _fetch() {
    try {
      const reply = await fetch(this.root.dataset.parts ?? "", { headers: { "HX-Request": "true" } });
      if (reply.redirected || !reply.ok) return this._missed(whyNot(reply), reply.status >= 500 || reply.status === 429);
      this.why = "";
      const html = await reply.text();
      if (this.busy > 1) this.again = true;
      else {
        this._put(html);
        this.placed?.();
      }
    } catch {
      this._missed("the server does not answer", true);
    }
  }

  /** No other event may cause a read for a long time. @param {string} why @param {boolean} passing may it be answered later? */
  _missed(why, passing) {
    if (why !== this.why) this.failed?.(why);
    this.why = why;
    if (passing) this.later();
  }

  /** @param {string} html */
  _put(html) {
    const fresh = partsOf(html);
    const wanted = new Set(fresh.map(({ id }) => id));
    const gone = all(this.root, "[data-part]").filter((part) => !wanted.has(part.id) && !kept(part));
    for (const part of gone) this._remove(part);
    const places = fresh.map((part) => ({ part, parent: part.parentElement?.id, before: part.previousElementSibling?.id }));
    for (const place of places) if (!kept(document.getElementById(place.part.id))) this._place(place);
  }

  /** Inserts a newer version and carries over half-written input. @param {string} html @param {string | undefined} id */
  _putOne(html, id) {
    const part = partsOf(html).find((one) => one.id === id);
    if (part) this._place({ part, told: true });
  }

  /** @param {HTMLElement} part */
  _remove(part) {
    const focused = part.contains(document.activeElement);
    part.remove();
    if (focused) this.root.focus({ preventScroll: true });
  }

  /** @param {Place} place */
  _place({ part, parent = "", before = "", told = false }) {
    const source = part.outerHTML.replace(SECRET, "");
    const standing = document.getElementById(part.id);
    if (standing && shown.get(standing) === source && !told) return;
    shown.set(part, source);
    if (standing) replace(standing, part, told);
    else if (document.getElementById(before)) document.getElementById(before)?.after(part);
    else (document.getElementById(parent) ?? this.root).prepend(part);
    globalThis.htmx?.process(part);
  }
}

/** Parts that no event tells of are read again every few seconds while the page is visible. @param {HTMLElement} root */
export function pollParts(root) {
  const parts = new LiveParts(root);
  setInterval(() => {
    if (!document.hidden) parts.refresh();
  }, POLL_MS);
  return parts;
}

/** @param {string} html */
function partsOf(html) {
  return all(fragment(html), "[data-part]");
}

/** A part with `data-part="kept"` is not replaced while somebody writes in it. @param {HTMLElement | null} part */
const kept = (part) =>
  part?.dataset.part === "kept" && (part.hasAttribute("data-editing") || [...textareasOf(part)].some(written));

/** Saved input is no longer a draft. A form with `data-done="reset"` is emptied for the next entry. @param {HTMLFormElement} form */
function done(form) {
  if (form.dataset.done === "reset") form.reset();
  else for (const field of textsOf(form)) field.defaultValue = field.value;
  giveUp(form.closest("[data-part]"));
  form.closest("details.edit:not([open])")?.querySelector("summary")?.focus();
}

/** @param {Element | null} part */
function giveUp(part) {
  if (!part) return;
  part.removeAttribute("data-editing");
  shown.delete(part);
  for (const fold of part.querySelectorAll("details.edit")) fold.removeAttribute("open");
  for (const field of textareasOf(part)) field.value = field.defaultValue;
}

/** Carries over folds, input, scroll position and focus. @param {HTMLElement} standing @param {HTMLElement} fresh @param {boolean} told */
function replace(standing, fresh, told) {
  const find = (/** @type {Element} */ { id }) => (id ? fresh.querySelector(`#${CSS.escape(id)}`) : null);
  for (const fold of standing.querySelectorAll("details[id]")) find(fold)?.toggleAttribute("open", fold.hasAttribute("open"));
  /** @type {NodeListOf<Field>} */
  const fields = standing.querySelectorAll(FIELDS);
  for (const field of fields) {
    const own = /** @type {Field | null} */ (find(field));
    if (!own || !written(field)) continue;
    own.value = field.value;
    if (!told) carrySeen(field, own);
  }
  const scrolled = [...standing.querySelectorAll("[id]")].filter(({ scrollTop }) => scrollTop > 0);
  const heights = scrolled.map((part) => ({ part, height: part.scrollTop }));
  const focused = standing.contains(document.activeElement) ? document.activeElement : null;
  const selected = selectionOf(focused);
  standing.replaceWith(fresh);
  for (const { part, height } of heights) {
    const own = find(part);
    if (own) own.scrollTop = height;
  }
  if (!focused) return;
  const heir = find(focused) || fresh.querySelector("[data-heir]") || fresh;
  focusOn(heir);
  // An empty list has no room, and so no focus.
  if (document.activeElement !== heir) focusHeading(fresh);
  if (selected && isText(heir) && heir.type !== "email") heir.setSelectionRange(...selected);
}

/** The heading of what a part is in. @param {HTMLElement} part */
function focusHeading(part) {
  const heading = part.closest(":is(section, aside, main):has(h1, h2, h3)")?.querySelector("h1, h2, h3");
  if (!(heading instanceof HTMLElement)) return;
  heading.tabIndex = -1;
  focusOn(heading);
}

/** What the writer saw when they began is what their form replaces. @param {Field} from @param {Field} to */
function carrySeen({ form: former }, { form }) {
  const seen = form?.querySelector("input[name=seen]");
  seen?.setAttribute("value", former?.querySelector("input[name=seen]")?.getAttribute("value") ?? "");
}

/** @param {Element | null} element @returns {element is HTMLInputElement | HTMLTextAreaElement} */
const isText = (element) => element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;

/** @param {Element | null} element @returns {[number | null, number | null] | null} */
const selectionOf = (element) => (isText(element) ? [element.selectionStart, element.selectionEnd] : null);

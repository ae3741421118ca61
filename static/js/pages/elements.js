/** Finds elements of a page's template, with their types. A missing element is an error in the template. */

/**
 * @template {Element} Kind @param {ParentNode} root @param {string} selector @param {new () => Kind} kind for example
 *   `HTMLInputElement` @returns {Kind} the first one
 */
export function one(root, selector, kind) {
  const found = root.querySelector(selector);
  if (found instanceof kind) return found;
  throw new TypeError(`This page has no ${kind.name} at ${selector}.`);
}

/** @template {Element} Kind @param {string} id @param {new () => Kind} kind @returns {Kind} */
export const byId = (id, kind) => one(document, `#${id}`, kind);

/** @param {ParentNode} root @param {string} selector @returns {HTMLElement[]} */
export const all = (root, selector) => [...root.querySelectorAll(selector)].filter((found) => found instanceof HTMLElement);

/** The nearest element around an event's target that matches the selector. @param {Event} event @param {string} selector */
export function around({ target }, selector) {
  const found = target instanceof Element ? target.closest(selector) : null;
  return found instanceof HTMLElement ? found : null;
}

/** Parses HTML from the server. @param {string} html */
export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Sets the focus without scrolling. @param {Element | null | undefined} element */
export function focusOn(element) {
  if (element instanceof HTMLElement || element instanceof SVGElement) element.focus({ preventScroll: true });
}

/** Index of the element with the focus; -1: none. @param {Element[]} parts */
export const focusedAt = (parts) => (document.activeElement ? parts.indexOf(document.activeElement) : -1);

/** Is it for an input method? In Safari only the code tells so of the Enter that ends a composition. @param {KeyboardEvent} event */
export const composes = ({ isComposing, keyCode }) => isComposing || keyCode === 229;

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

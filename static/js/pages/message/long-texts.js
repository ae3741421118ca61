/**
 * Long texts of messages, folded by the style sheet: a button shows all. What reaches into the hidden part shows all too: a hit of
 * the browser's or the page's own search, a key that moves the focus there.
 */

import { all, around } from "../elements.js";

const LONG = ".prose[data-long]";

/** @param {ParentNode} root */
export function addTextButtons(root) {
  for (const text of all(root, LONG)) {
    if (text.nextElementSibling?.matches("[data-all]")) continue;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "button small" });
    // Its words come from the style sheet, so that they are neither copied nor found.
    button.dataset.all = `Show all ${text.dataset.long} characters`;
    text.after(button);
    show(text, text.classList.contains("whole"));
  }
}

/** @param {Element} text @param {boolean} [whole] */
export function show(text, whole = true) {
  const button = text.nextElementSibling;
  text.classList.toggle("whole", whole);
  if (!(button instanceof HTMLElement) || !button.dataset.all) return;
  button.ariaExpanded = String(whole);
  button.ariaLabel = whole ? "Fold" : button.dataset.all;
}

/** All long texts around an element are shown. @param {Element} inner */
export function showAround(inner) {
  const text = inner.closest(LONG);
  if (text) show(text);
}

/** @param {ParentNode} root */
export function showLong(root) {
  for (const text of all(root, LONG)) show(text);
}

/** A text that was shown, or was not long yet, stays shown. @param {Element} former @param {ParentNode} fresh */
export function keepShown(former, fresh) {
  const known = all(former, LONG);
  for (const [at, text] of all(fresh, LONG).entries()) show(text, known[at]?.classList.contains("whole") ?? true);
}

document.addEventListener("click", (event) => {
  const button = around(event, "[data-all]");
  const text = button?.previousElementSibling;
  if (!text) return;
  const whole = !text.classList.contains("whole");
  show(text, whole);
  // The end of a long text is left: back to its beginning.
  if (!whole) text.scrollIntoView({ block: "nearest" });
});

document.addEventListener(
  "scroll",
  ({ target }) => {
    if (!(target instanceof HTMLElement) || !target.matches(LONG) || !target.scrollTop) return;
    const hidden = target.scrollTop;
    target.scrollTop = 0;
    show(target);
    // What it was scrolled to stays where it is on the screen.
    (target.closest(".chat-log") ?? document.scrollingElement)?.scrollBy(0, hidden);
  },
  { capture: true },
);

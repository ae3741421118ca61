/**
 * The bar above a list for all rows that are ticked: a plain form, whose tick boxes are in the rows (`form="…"`). It is shown
 * while something is ticked, says how many, and keeps ticks when rows are replaced.
 */

import { all, one } from "../pages/elements.js";

const MOST = 500;

/** An unchanged text is not set again: the page is watched for changes. @param {HTMLElement} element @param {string} words */
function say(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** @param {HTMLFormElement} form */
function setUp(form) {
  /** @type {Set<string>} */
  const ticked = new Set();
  const noun = form.dataset.bulk ?? "row";
  const count = one(form, "[data-bulk-count]", HTMLElement);
  const every = one(form, "[data-bulk-all]", HTMLButtonElement);
  const boxes = () => /** @type {HTMLInputElement[]} */ (all(document, `input[type=checkbox][form="${form.id}"]`));

  function show() {
    const here = boxes();
    for (const box of here) box.checked = ticked.has(box.value);
    const left = [...ticked].filter((value) => !here.some((box) => box.value === value));
    for (const value of left) ticked.delete(value);
    form.hidden = ticked.size === 0;
    say(count, `${ticked.size} ${noun}${ticked.size === 1 ? "" : "s"} selected`);
    say(every, ticked.size === Math.min(here.length, MOST) ? "Select none" : "Select all shown");
  }

  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.form !== form || target.type !== "checkbox") return;
    if (target.checked && ticked.size < MOST) ticked.add(target.value);
    else ticked.delete(target.value);
    show();
  });
  every.addEventListener("click", () => {
    const here = boxes().slice(0, MOST);
    const whole = ticked.size === here.length;
    ticked.clear();
    if (!whole) for (const box of here) ticked.add(box.value);
    show();
  });
  // A browser restores ticks when somebody comes back to the page.
  for (const box of boxes()) if (box.checked) ticked.add(box.value);
  every.hidden = false;
  show();
  new MutationObserver(() => {
    if (boxes().some((box) => box.checked !== ticked.has(box.value)) || ticked.size) show();
  }).observe(one(document, "main", HTMLElement), { childList: true, subtree: true });
}

for (const form of all(document, "form[data-bulk]")) if (form instanceof HTMLFormElement) setUp(form);

/** What keys and the command palette do with a page's own buttons, links and fields. */

import { all } from "../elements.js";

const ROW = "article, .list > li";
const TEXT = "input:not([type=hidden], [type=checkbox], [type=radio], [type=submit], [type=file]), textarea";
const COMMANDS = ".tabs a, button, a.button, summary.button";

/** The message or the row of a list in which an element is. @param {Element | null} element */
export function rowOf(element) {
  const row = element?.closest(ROW);
  return row instanceof HTMLElement ? row : null;
}

/** Opens the folds and the drawer around an element. @param {HTMLElement} element */
function uncover(element) {
  const inside = element.matches("summary") ? element.parentElement?.parentElement : element;
  for (let fold = inside?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  const drawer = element.closest("[popover]");
  if (drawer instanceof HTMLElement && !drawer.matches(":popover-open")) drawer.showPopover();
}

/** The text field that a button sends, or the element itself if it is one. @param {HTMLElement} element */
function fieldOf(element) {
  if (element.matches(TEXT)) return element;
  const fields = element instanceof HTMLButtonElement && element.form ? all(element.form, TEXT) : [];
  return fields.find((field) => field.checkVisibility()) ?? null;
}

/** As a click would. A button that sends a text focuses the text's field instead. @param {HTMLElement} element */
export function press(element) {
  uncover(element);
  const field = fieldOf(element);
  if (!field) {
    element.focus();
    return element.click();
  }
  field.focus();
  if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.select();
}

/** Unfolds what is folded in a row, or folds it again. A row without folds opens its menu. @param {HTMLElement} row */
export function unfold(row) {
  const menu = all(row, "details.menu > summary")[0];
  const folds = [...row.querySelectorAll("details")].filter((fold) => !fold.matches(".menu"));
  const texts = all(row, "[data-all]");
  if (!folds.length && !texts.length && menu) return press(menu);
  const open = folds.some((fold) => !fold.open) || texts.some((button) => button.ariaExpanded !== "true");
  for (const fold of folds) fold.open = open;
  for (const button of texts) if ((button.ariaExpanded === "true") !== open) button.click();
}

/** What an element does, in words. @param {HTMLElement} element */
export function nameOf(element) {
  const words = element.dataset.does || element.ariaLabel || element.textContent || "";
  return words.replace(/\s+/g, " ").trim();
}

/** In a drawer it may be invisible, but `press` opens the drawer. @param {HTMLElement} element */
const reachable = (element) =>
  !element.matches(":disabled") &&
  !element.closest("dialog, [hidden]") &&
  (element.checkVisibility() || element.closest("[popover]"));

/** The commands of a row, or of the page without its rows; of several with one name the first. @param {ParentNode} root @param {HTMLElement | null} row */
export function commandsOf(root, row) {
  const own = all(row ?? root, COMMANDS).filter((element) => reachable(element) && rowOf(element) === row && nameOf(element));
  return [...new Map(own.toReversed().map((element) => [nameOf(element), element])).values()].toReversed();
}

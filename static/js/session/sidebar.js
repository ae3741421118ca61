/** The panel beside a transcript: updated live, and a drawer on narrow screens. */

import { holdButtons } from "../forms/new-question.js";
import { all, byId, one } from "../pages/elements.js";
import { LiveParts } from "../pages/live/parts.js";
import { toast } from "../pages/toasts.js";

const root = byId("rail", HTMLElement);
const opener = one(document, "[popovertarget=rail]", HTMLElement);
const narrow = matchMedia("(max-width: 60rem)");
const LONGEST_TIMER_MS = 2 ** 31 - 1;
let expiry = 0;
/** The question that is shown. @type {string | undefined} */
let asked;

/** Updates the title; marks the drawer's button when an agent waits, and checks again when its question expires. */
function placed() {
  const title = byId("title", HTMLInputElement).dataset.name ?? "";
  for (const shown of all(document, "h1, .session-name, .crumbs [aria-current]")) shown.textContent = title;
  /** @type {HTMLElement | null} */
  const question = document.querySelector("#rail-question[data-open]");
  if (question && asked !== undefined && asked !== question.dataset.asked) holdButtons(question);
  asked = question?.dataset.asked ?? "";
  const toSettle = document.querySelector("#rail-conflicts .chip")?.textContent ?? "";
  opener.classList.toggle("waiting", Boolean(question || toSettle));
  const waits = [question ? "an agent waits for you" : "", toSettle ? `${toSettle} to settle` : ""];
  one(opener, "span", HTMLElement).textContent = waits.filter(Boolean).join(", ");
  document.title = `${question ? "● " : ""}${title} · Stillhere`;
  clearTimeout(expiry);
  if (!question?.dataset.until) return;
  const left = Date.parse(question.dataset.until) - Date.now();
  if (left < LONGEST_TIMER_MS) expiry = setTimeout(() => sidebar.refresh(), Math.max(500, left + 500));
}

export const sidebar = new LiveParts(root, {
  placed,
  failed: (why) => toast(`The panel beside the transcript is not up to date: ${why}.`),
});

/** The style sheet hides the drawer, and shows its button, before this script runs: nothing moves when it does. */
function fit() {
  root.popover = narrow.matches ? "auto" : null;
}

/** A link to a part of the panel opens the drawer that it is in. */
function show() {
  const id = location.hash.slice(1);
  const named = id ? document.getElementById(id) : null; // Of an empty one Firefox complains.
  if (!named || !root.contains(named)) return;
  if (narrow.matches) root.showPopover();
  named.scrollIntoView({ block: "nearest" });
  named.focus({ preventScroll: true });
}

narrow.addEventListener("change", fit);
window.addEventListener("hashchange", show);
fit();
show();

/**
 * The buttons of a live list's rows, and the Undo of what they did: their forms are sent without leaving the page, so rows, scroll
 * position and focus stay. One with `data-leaves` leads to another page.
 */

import { byId, focusOn } from "../pages/elements.js";
import { toast } from "../pages/toasts.js";
import { send, tell } from "./sending.js";

const toasts = byId("toasts", HTMLElement);
/** What had the focus before it went to a toast. @type {Element | null} */
let former = null;

/** Those that are being sent: a second click sends nothing. @type {WeakSet<HTMLFormElement>} */
const sending = new WeakSet();

/** @param {HTMLFormElement} form @param {FormData} body */
async function act(form, body) {
  sending.add(form);
  const { problem, seen, reply } = await send(form, body);
  sending.delete(form);
  if (seen !== undefined) form.querySelector("[name=seen]")?.setAttribute("value", seen);
  if (problem) return toast(problem, { error: true });
  // A row with an open menu is not replaced.
  const menu = form.closest("details.menu[open]");
  const focused = menu?.contains(document.activeElement);
  menu?.removeAttribute("open");
  if (focused) menu?.querySelector("summary")?.focus({ preventScroll: true });
  if (toasts.contains(form)) leave(form);
  tell(reply);
}

/** Its toast is over. A row that was replaced meanwhile has the focus on its title. @param {HTMLFormElement} form */
function leave(form) {
  form.closest(".toast")?.remove();
  const row = former?.closest("[data-rows] > li")?.id;
  focusOn(former?.isConnected ? former : row ? document.querySelector(`#${row} .title`) : null);
}

/** @param {HTMLFormElement} form */
function staysHere(form) {
  if (form.closest("[data-rows] > li")) return !form.hasAttribute("data-leaves");
  const back = new URL(form.action).searchParams.get("back");
  return toasts.contains(form) && back?.split("?")[0] === location.pathname && document.querySelector("[data-rows]") !== null;
}

toasts.addEventListener("focusin", ({ relatedTarget: from }) => {
  if (from instanceof Element && !toasts.contains(from)) former = from;
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== "post") return;
  if (!staysHere(form)) return;
  event.preventDefault();
  if (!sending.has(form)) act(form, new FormData(form, event.submitter));
});

/** The buttons of a live list's rows: their forms are sent without leaving the page, so rows, scroll position and focus stay.
 * One with `data-leaves` leads to another page. */

import { toast } from "../pages/toasts.js";
import { send, tell } from "./sending.js";

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
  tell(reply);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== "post") return;
  if (!form.closest("[data-rows] > li") || form.hasAttribute("data-leaves")) return;
  event.preventDefault();
  if (!sending.has(form)) act(form, new FormData(form, event.submitter));
});

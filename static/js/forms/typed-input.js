/**
 * A form that leads to another page takes along what was typed. Where the server is away, or nobody is signed in any more, another
 * page would come in its place, and the words would be lost. So the server is asked first, and otherwise the page stays.
 */

import { toast } from "../pages/toasts.js";
import { problemNow } from "./login-token.js";
import { release } from "./one-answer.js";

const TEXTS = "textarea, input:not([type=hidden], [type=checkbox], [type=radio], [type=submit], [type=button], [type=file])";
/** The form that is sent now, because the server answered. @type {HTMLFormElement | null} */
let passing = null;

/** @param {HTMLFormElement} form */
const holdsInput = (form) =>
  [...form.elements].some((field) => {
    if (!(field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement)) return false;
    if (field.matches(TEXTS)) return field.value !== "";
    return field instanceof HTMLInputElement && field.checked && !field.defaultChecked;
  });

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
async function ask(form, submitter) {
  const problem = await problemNow();
  release(form);
  if (problem) return toast(problem, { error: true });
  passing = form;
  form.requestSubmit(submitter?.isConnected ? submitter : null);
  passing = null;
}

/* On the window: what sends a form in another way has prevented this by then. A second click is held back until there is an answer. */
addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.getAttribute("method") !== "post") return;
  if (form === passing || !document.querySelector(".frame") || !holdsInput(form)) return;
  event.preventDefault();
  ask(form, submitter);
});

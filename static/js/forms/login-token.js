/**
 * A login in another tab has another CSRF token. Before a form is sent, the page takes it over if the same user is signed in; else
 * nothing is sent, and what is written stays.
 */

import { all } from "../pages/elements.js";
import { toast } from "../pages/toasts.js";
import { askStanding } from "./sign-in-state.js";

export const SIGNED_OUT = "You are signed out. Sign in in another tab, then try again: nothing here is lost.";
export const NO_ANSWER = "The server does not answer. Is it running?";
const PROBLEMS = {
  here: "",
  away: NO_ANSWER,
  "signed-out": SIGNED_OUT,
  "somebody-else": "Somebody else is signed in now, so nothing was sent. Sign in as before in another tab, then try again.",
};
const STALE_FORM = "Stillhere-Stale-Form";

const user = document.querySelector(".frame")?.getAttribute("data-user");
const cookie = () => /(?:^|; )(?:__Host-)?csrftoken=([^;]*)/.exec(document.cookie)?.[1] ?? "";
/** The cookie to which the page's tokens belong. @type {string | null} null: to a former one */
let known = cookie();
/** Forms that were refused for their token and sent once more. @type {WeakSet<Element>} */
const repeated = new WeakSet();

/** Takes over the token of a new login, if there was one. @returns {Promise<string>} why nothing can be sent; empty: it can */
export async function currentToken() {
  return known === cookie() ? "" : problemNow();
}

/** As the server says now, also of a login that ended elsewhere. @returns {Promise<string>} */
export async function problemNow() {
  return user ? PROBLEMS[await standingOf(user)] : "";
}

/** @param {string} own */
async function standingOf(own) {
  const { standing, csrf } = await askStanding(own);
  if (csrf) put(csrf);
  return standing;
}

/** @param {string} csrf */
function put(csrf) {
  for (const field of all(document, "input[name=csrfmiddlewaretoken]")) field.setAttribute("value", csrf);
  document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": csrf }));
  known = cookie();
}

/** @param {HTMLFormElement} form @param {HTMLElement | null | undefined} submitter */
async function sendAgain(form, submitter) {
  const problem = await currentToken();
  if (problem) toast(problem, { error: true });
  else if (!form.isConnected) toast("The page was brought up to date meanwhile. Send it again.", { error: true });
  else form.requestSubmit(submitter?.isConnected ? submitter : null);
}

/**
 * Sends a form of htmx once more that was refused for its token. A page without a connection may be from a former login.
 * @param {HtmxDetail} detail @returns whether it does so
 */
export function repeatWithToken({ elt, xhr, requestConfig }) {
  if (!user || xhr.getResponseHeader(STALE_FORM) === null || repeated.has(elt)) return false;
  const sent = requestConfig?.triggeringEvent;
  if (!(elt instanceof HTMLFormElement && sent instanceof SubmitEvent)) return false;
  repeated.add(elt);
  known = null;
  sendAgain(elt, sent.submitter);
  return true;
}

/* Before all others who listen for it. */
document.addEventListener(
  "submit",
  (event) => {
    const { target: form, submitter } = event;
    if (!(form instanceof HTMLFormElement) || form.getAttribute("method") !== "post") return;
    if (!user || known === cookie()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    sendAgain(form, submitter);
  },
  true,
);

/* Back: the browser shows the page as it was left, also after somebody signed out. */
addEventListener("pageshow", async ({ persisted }) => {
  if (!persisted || !user || known === cookie()) return;
  if (["signed-out", "somebody-else"].includes(await standingOf(user))) location.reload();
});

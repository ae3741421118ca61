/** Sends a row's form without leaving the page. */

import { currentToken, NO_ANSWER, SIGNED_OUT } from "../forms/login-token.js";
import { toldBy } from "../forms/refusal.js";
import { fragment, one } from "../pages/elements.js";
import { toast } from "../pages/toasts.js";

const TOKEN = "csrfmiddlewaretoken";

/**
 * @param {HTMLFormElement} form @param {FormData} body
 * @returns {Promise<{problem: string, seen?: string, reply?: Response}>} what went wrong; empty: nothing. `seen`: the title that
 *   somebody else gave
 */
export async function send(form, body) {
  const refused = await currentToken();
  if (refused) return { problem: refused };
  // The body may have been made before.
  body.set(TOKEN, one(form, `input[name=${TOKEN}]`, HTMLInputElement).value);
  try {
    const reply = await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" } });
    if (reply.redirected) return { problem: SIGNED_OUT };
    if (reply.ok) return { problem: "", reply };
    const problem = toldBy(reply) || "That did not work. Reload the page and try again.";
    if (reply.status !== 412) return { problem };
    return { problem, seen: one(fragment(await reply.text()), "input[name=seen]", HTMLInputElement).value };
  } catch {
    return { problem: NO_ANSWER };
  }
}

/** Says what was done, with its undo, and has the page's lists look again. @param {Response | undefined} reply */
export function tell(reply) {
  const said = JSON.parse(reply?.headers.get("HX-Trigger") ?? "{}").toast;
  if (said) toast(said.message, said);
  document.body.dispatchEvent(new CustomEvent("changed"));
}

/** A notification of the browser that an answer is done. Loaded where somebody wants that. */

/** @import { Answered } from "../../stillhere.js" */

/** @type {Record<Answered["state"], string>} */
const WORDS = {
  complete: "The answer is done.",
  stopped: "The answer was stopped.",
  interrupted: "The answer was cut off.",
  failed: "There is no answer.",
};

/** @param {Pick<Answered, "state" | "message">} answered @param {string} title of the session */
export function notify({ state, message }, title) {
  const notice = new Notification(WORDS[state], { body: title, tag: message ?? "" });
  notice.addEventListener("click", () => {
    globalThis.focus();
    notice.close();
  });
}

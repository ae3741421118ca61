/** Clear session, Back to question and Finish planning: each clears the session and can be undone. */

/**
 * @import { Connection } from "../../stillhere.js"
 * @import { Versions } from "../messages/versions.js"
 * @import { View } from "../view.js"
 * @typedef {{chat: Connection, view: View, versions: Versions, show: (messages: [], step: string) => void}} Page
 */

/** @param {Page} page @returns {(words: string) => Promise<void>} `words`: what was done */
export function startingOver({ chat, view, versions, show }) {
  return async (words) => {
    versions.stop(true);
    view.alert("");
    const session = chat.session?.id;
    const clearing = chat.clear();
    show([], "question");
    view.quiet("");
    view.toast(words, async () => {
      const ended = await clearing;
      // The answer may be so late that the page shows another session, whose messages stay as they are.
      if (chat.session?.id !== session) return;
      view.toast("");
      await chat.undoClear(ended?.of);
    });
    view.focus();
    await clearing;
  };
}

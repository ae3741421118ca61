/** Clear session, Back to question and Finish planning: each clears the session and can be undone. */

/**
 * @import { Connection } from "../../stillhere.js"
 * @import { View } from "../view.js"
 * @typedef {{chat: Connection, view: View, leave: () => void, showEmpty: () => void}} Page `leave`: an edit ends, and what it became stays
 *   in the composer
 */

/** @param {Page} page @returns {(words: string) => Promise<void>} `words`: what was done */
export function startingOver({ chat, view, leave, showEmpty }) {
  return async (words) => {
    leave();
    view.alert("");
    const session = chat.session?.id;
    const clearing = chat.clear();
    showEmpty();
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

/** The session is empty because it was cleared: a notice offers to restore its messages, until something is said or restored. */

import { messageOf } from "../../pages/elements.js";

/**
 * @import { Connection, State } from "../../stillhere.js"
 * @import { View } from "../view.js"
 */

const CAUSE = "cleared";

export class ClearedNotice {
  /** @param {{chat: Connection, view: View}} page */
  constructor({ chat, view }) {
    this.chat = chat;
    this.view = view;
    chat.on("cleared", ({ by, messages }) => by === "this" || this.offer({ session: chat.session, messages }));
    chat.on("changed", ({ messages }) => messages.length && this.forget());
    chat.on("saved", ({ applied }) => applied.length && this.forget());
  }

  /** @param {Pick<State, "session" | "messages">} state */
  offer({ session, messages }) {
    if (messages.length || (session?.epoch ?? 1) === 1) return this.forget();
    const restore = { label: "Restore", act: () => this._restore() };
    return this.view.notices.say(CAUSE, "The messages of this session were cleared.", [restore]);
  }

  /** The page shows another session, or there is something in this one. */
  forget() {
    this.view.notices.clear(CAUSE);
  }

  async _restore() {
    this.view.alert("");
    try {
      if (!(await this.chat.undoClear())) this.view.alert("Nothing is left: what is cleared is kept for 30 days.");
      this.forget();
    } catch (error) {
      this.view.alert(messageOf(error));
    }
  }
}

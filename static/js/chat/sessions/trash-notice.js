/** The session was moved to the trash elsewhere: a notice says so until it is restored; then unsaved changes are sent. */

import { messageOf } from "../../pages/elements.js";

/**
 * @import { Connection, Frame } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { View } from "../view.js"
 */

const CAUSE = "trash";
const WORDS = "This session is in the trash. Restore it to continue, or start a new one.";

export class TrashNotice {
  /** @param {{chat: Connection, api: Api, view: View}} page */
  constructor({ chat, api, view }) {
    this.chat = chat;
    this.api = api;
    this.view = view;
    this.told = false;
    /** @param {Uppercase<string>} type @param {() => void} act */
    const onOwn = (type, act) => chat.on(type, (/** @type {Frame} */ { session }) => session === chat.session?.id && act());
    onOwn("SESSION_DELETED", () => this.tell());
    onOwn("SESSION_UPDATED", () => this._over());
  }

  tell() {
    this.told = true;
    this.view.notices.say(CAUSE, WORDS, [{ label: "Restore", act: () => this._bringBack() }]);
  }

  /** The page shows another session now. */
  forget() {
    this.told = false;
    this.view.notices.clear(CAUSE);
  }

  async _bringBack() {
    try {
      await this.api.call("POST", `/sessions/${this.chat.session?.id}/undelete`, {});
      this._over();
    } catch (error) {
      this.view.alert(messageOf(error));
    }
  }

  _over() {
    if (!this.told) return;
    this.forget();
    this.chat.retry();
  }
}

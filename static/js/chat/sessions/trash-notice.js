/**
 * The session was moved to the trash elsewhere: a notice says so until it is restored; then unsaved changes are sent. Of one that was
 * erased the page still shows what it has.
 */

import { messageOf } from "../../pages/elements.js";
import { whenSeen } from "../../pages/live/event-stream.js";
import { Refused } from "../api.js";

/**
 * @import { Connection, Frame } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { View } from "../view.js"
 */

const CAUSE = "trash";
const WORDS = "This session is in the trash. Restore it to continue, or start a new one.";
const ERASED = "This session was erased. What you see is only in this page: copy what you need, and start a new session.";

export class TrashNotice {
  /** @param {{chat: Connection, api: Api, view: View}} page */
  constructor({ chat, api, view }) {
    this.chat = chat;
    this.api = api;
    this.view = view;
    this.told = false;
    /** Number of the newest look into the trash: what a former one is answered may be over. */
    this.looked = 0;
    /** @param {Uppercase<string>} type @param {() => void} act */
    const onOwn = (type, act) => chat.on(type, (/** @type {Frame} */ { session }) => session === chat.session?.id && act());
    this.look = whenSeen(() => this._look());
    onOwn("SESSION_DELETED", this.look);
    onOwn("SESSION_UPDATED", () => this._over());
  }

  /** The server refused a save. It may be back since: that was heard before the refusal arrived. */
  refused() {
    this._tell();
    this.look();
  }

  _tell() {
    this.told = true;
    this.view.notices.say(CAUSE, WORDS, [{ label: "Restore", act: () => this._bringBack() }]);
  }

  async _look() {
    this.looked += 1;
    const number = this.looked;
    const path = `/sessions/${this.chat.session?.id}?messages=0`;
    const error = await this.api.get(path).then(
      () => null,
      (/** @type {unknown} */ refusal) => refusal,
    );
    if (number !== this.looked) return;
    if (!error) return this._over();
    if (!(error instanceof Refused && error.code === "not_found")) return this._tell();
    this.forget();
    return this.view.notices.say(CAUSE, ERASED);
  }

  /** The page shows another session now. */
  forget() {
    this.looked += 1;
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
    const { told } = this;
    this.forget();
    if (told) this.chat.retry();
  }
}

/**
 * The session was moved to the trash elsewhere: a notice says so until it is restored; then unsaved changes are sent. Of one that was
 * erased the page still shows what it has. What was written in a session that the page has left since is sent when that one is back.
 */

import { messageOf } from "../../pages/elements.js";
import { whenSeen } from "../../pages/live/event-stream.js";
import { Refused } from "../api.js";

/**
 * @import { Connection, Frame, Refused as Refusal } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { View } from "../view.js"
 */

const CAUSE = "trash";
const WORDS = "This session is in the trash. Restore it to continue, or start a new one.";
const ERASED = "This session was erased. What you see is only in this page: copy what you need, and start a new session.";
const ELSEWHERE = "Not saved until you restore its session from the trash.";

export class TrashNotice {
  /** @param {{chat: Connection, api: Api, view: View}} page */
  constructor({ chat, api, view }) {
    this.chat = chat;
    this.api = api;
    this.view = view;
    /** Sessions of which the server refused something. @type {Set<string>} */
    this.unsaved = new Set();
    /** Number of the newest look into the trash: what a former one is answered may be over. */
    this.looked = 0;
    this.look = whenSeen(() => this._look());
    chat.on("SESSION_DELETED", (/** @type {Frame} */ { session }) => session === this.own && this.look());
    chat.on("SESSION_UPDATED", (/** @type {Frame} */ { session = "" }) => this._isBack(session));
    // The server gave the session, which is not in the trash then.
    chat.on("restored", ({ session }) => this._isBack(session?.id ?? ""));
  }

  /** The session that the page shows. */
  get own() {
    return this.chat.session?.id ?? "";
  }

  /** The server refused a save. Its session may be back since: that was heard before the refusal arrived. @param {Refusal} refusal */
  refused({ entry }) {
    const { session = this.own } = /** @type {{session?: string}} */ (entry ?? {});
    this.unsaved.add(session);
    if (session !== this.own) return this.view.alert(ELSEWHERE);
    this._tell();
    return this.look();
  }

  _tell() {
    this.view.notices.say(CAUSE, WORDS, [{ label: "Restore", act: () => this._bringBack() }]);
  }

  async _look() {
    const { own } = this;
    if (!own) return;
    this.looked += 1;
    const number = this.looked;
    const error = await this.api.get(`/sessions/${own}?messages=0`).then(
      () => null,
      (/** @type {unknown} */ refusal) => refusal,
    );
    if (number !== this.looked) return;
    if (!error) return this._isBack(own);
    if (!(error instanceof Refused && error.code === "not_found")) return this._tell();
    this.forget();
    return this.view.notices.say(CAUSE, ERASED);
  }

  /** The page shows another session now. */
  forget() {
    this.looked += 1;
    this.view.notices.clear(CAUSE);
  }

  async _bringBack() {
    const { own } = this;
    try {
      await this.api.call("POST", `/sessions/${own}/undelete`, {});
      this._isBack(own);
    } catch (error) {
      this.view.alert(messageOf(error));
    }
  }

  /** @param {string} session */
  _isBack(session) {
    if (session === this.own) this.forget();
    if (!this.unsaved.delete(session)) return;
    this.view.alert("");
    this.chat.retry();
  }
}

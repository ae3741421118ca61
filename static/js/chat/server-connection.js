/** The page's notices about its server: unreachable, signed out, back. Each disappears when it is no longer true. */
import { forgetPages } from "./offline/registration.js";
import { SignInCheck } from "./sign-in-check.js";

/**
 * @import { AgentStateFields, Connection, Events } from "../stillhere.js"
 * @import { Standing } from "../forms/sign-in-state.js"
 * @import { View } from "./view.js"
 */

const SIGNED_OUT = new Set([401, 403]);
const KEPT = "What you write is kept in this browser and saved afterwards.";
const WORDS = {
  away: "No connection to the server. What you write is kept in this browser and saved when it is back.",
  "signed-out": `You are signed out. ${KEPT}`,
  "somebody-else": `Somebody else is signed in now. ${KEPT.replace("afterwards", "when you are signed in again")}`,
};
const STORAGE = {
  indexedDB: "This browser cannot store more: unsaved changes exist only in this tab. Keep it open until everything is saved.",
  localStorage: "This browser's localStorage is full or blocked. What you write is kept in its database and saved as usual.",
};
const CAUSE = "connection";

export class ServerConnection {
  /**
   * @param {{chat: Connection, auth: {user: string, csrf: string}, view: View, changed: () => void, back: () => Promise<void>}} page
   *   `changed`: `good` changed; `back`: everything works again
   */
  constructor({ chat, auth, view, changed, back }) {
    this.chat = chat;
    this.auth = auth;
    this.view = view;
    this.changed = changed;
    this.back = back;
    this.quickIsRead = false;
    /** A refused state that is sent again. @type {AgentStateFields | null} */
    this.state = null;
    this.signIn = new SignInCheck(auth.user, (standing, csrf) => this._stands(standing, csrf));
    chat.on("status", ({ error }) => {
      if (error?.denied) this.failed(error);
      else if (error) this.signIn.unanswered();
    });
    document.addEventListener("stillhere:retry", (event) => this._asked(/** @type {CustomEvent<string>} */ (event)));
    chat.on("warning", ({ where }) => this._full(where));
    chat.on("saved", () => this._saved());
  }

  get good() {
    return this.signIn.standing === "here";
  }

  /**
   * Returns whether it failed because of the connection or the login; then a notice says so and the page waits. A refused state
   * is sent again.
   * @param {unknown} error whatever was thrown or refused
   */
  failed(error) {
    const { status, state } = /** @type {{status?: number, state?: AgentStateFields}} */ (error);
    if (status === undefined) return false;

    if (SIGNED_OUT.has(status) && this.signIn.refused(status)) {
      if (state) this.state = { ...this.state, ...state };
      return true;
    }
    if (status === 0) this.signIn.unanswered();
    return status === 0;
  }

  /** The same, and the page waits for the server if it gave no answer. @template T @param {Promise<T>} call */
  watched(call) {
    call.catch((error) => this.failed(error));
    return call;
  }

  /** Somebody wants what waits to be sent now. @param {CustomEvent<string>} event `detail`: the project */
  _asked(event) {
    if (event.detail !== this.chat.project) return;
    event.preventDefault();
    this.chat.retry();
  }

  /** @param {Standing} standing @param {string} [csrf] */
  async _stands(standing, csrf = "") {
    if (standing !== "here") {
      if (standing !== "away") forgetPages();
      this._tell(standing);
      return this.changed();
    }
    this.auth.csrf = csrf;
    this.view.notices.clear(CAUSE);
    this.view.transcript.readAgain();
    this.view.attachments.again();
    this.changed();
    await this.chat.retry();
    if (this.state) this.chat.saveState(this.state);
    this.state = null;
    return this.back();
  }

  /** @param {Events["warning"]["where"]} where */
  _full(where) {
    const cause = `storage-${where}`;
    const read = () => {
      this.quickIsRead = true;
      this.view.notices.clear(cause);
    };
    if (where === "indexedDB") this.view.notices.say(cause, STORAGE[where]);
    else if (!this.quickIsRead) this.view.notices.say(cause, STORAGE[where], [{ label: "OK", act: read }]);
  }

  /** Once everything is saved, nothing exists only in this tab. */
  async _saved() {
    if (await this.chat.settled(0)) this.view.notices.clear("storage-indexedDB");
  }

  /** @param {Exclude<Standing, "here">} standing */
  _tell(standing) {
    const href = `/login/?next=${encodeURIComponent("/chat/")}`;
    const choices = standing === "away" ? [] : [{ label: "Sign in", href }];
    this.view.notices.say(CAUSE, WORDS[standing], choices);
  }
}

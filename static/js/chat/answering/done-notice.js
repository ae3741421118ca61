/** Tells that an answer is done while the page is not seen: by its title and, if somebody wants that, by a notification. */

import { byId } from "../../pages/elements.js";
import { store, stored } from "../../pages/stored.js";

/** @import { Answered } from "../../stillhere.js" */

const KEY = "stillhereNotify";
const MARK = "● ";

export class DoneNotice {
  constructor() {
    this.button = byId("chat-notify", HTMLButtonElement);
    this.button.hidden = !("Notification" in globalThis) || Notification.permission === "denied";
    this.button.addEventListener("click", () => this._toggle());
    document.addEventListener("visibilitychange", () => document.hidden || this._seen());
    this._show();
  }

  /** @param {Answered} answered @param {string} title of the session */
  tell(answered, title) {
    if (!document.hidden || answered.state === "stopped") return;
    if (!document.title.startsWith(MARK)) document.title = MARK + document.title;
    if (answered.own && this.wanted) import("./notification.js").then(({ notify }) => notify(answered, title)).catch(() => {});
  }

  get wanted() {
    return stored(KEY) === "1" && "Notification" in globalThis && Notification.permission === "granted";
  }

  /** The browser asks for the permission on a click only. */
  async _toggle() {
    const granted = !this.wanted && (await Notification.requestPermission()) === "granted";
    store(KEY, granted ? "1" : "");
    this.button.hidden = Notification.permission === "denied";
    this._show();
  }

  _show() {
    this.button.ariaPressed = String(this.wanted);
  }

  _seen() {
    document.title = document.title.replace(MARK, "");
  }
}

/** What the model is told before this session's messages. They are the session's own, in its metadata. */
import { byId, messageOf } from "../../pages/elements.js";

/**
 * @import { Connection, Session } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 */

export class Instructions {
  /** @param {{chat: Connection, api: Api, alert: (words: string) => void}} needs */
  constructor(needs) {
    this.needs = needs;
    /** Not saved yet: there is no session, or no connection. @type {string | null} */
    this.unsaved = null;
    this.dialog = byId("chat-instructions", HTMLDialogElement);
    this.field = byId("chat-instructions-text", HTMLTextAreaElement);
    this.button = byId("chat-instruct", HTMLButtonElement);
    this.button.addEventListener("click", () => {
      this.field.value = this.text;
      this.dialog.returnValue = "";
      this.dialog.showModal();
    });
    this.dialog.addEventListener("close", () => this.dialog.returnValue === "save" && this._take(this.field.value.trim()));
  }

  /** What a request for an answer says; "" for the project's own. */
  get text() {
    const { instructions } = this.needs.chat.session?.metadata ?? {};
    return this.unsaved ?? (typeof instructions === "string" ? instructions : "");
  }

  show() {
    this.button.toggleAttribute("data-on", this.text !== "");
    this.button.title = this.text ? "This session has instructions of its own" : "What the model is told beforehand";
  }

  /** The page shows another session now. */
  forget() {
    this.unsaved = null;
  }

  /** Saves what could not be saved so far. */
  async save() {
    const { chat, api, alert } = this.needs;
    const { session } = chat;
    const text = this.unsaved;
    if (text === null || !session) return;
    try {
      /** @type {Session} */
      const saved = await api.call("PATCH", `/sessions/${session.id}`, { metadata: { instructions: text || null } });
      session.metadata = saved.metadata;
      if (this.unsaved === text) this.unsaved = null;
    } catch (error) {
      if (!(error instanceof TypeError)) alert(`The instructions are not saved: ${messageOf(error)}`);
    }
    this.show();
  }

  /** @param {string} text */
  _take(text) {
    this.unsaved = text;
    this.show();
    this.save();
  }
}

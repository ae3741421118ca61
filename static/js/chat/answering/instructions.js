/**
 * What the model is told before this session's messages. They are the session's own, in its metadata. If somebody else changed them
 * while they were written here, both texts are shown before one replaces the other.
 */
import { byId, messageOf, one } from "../../pages/elements.js";

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
    /** What was stored when the writing began. */
    this.seen = "";
    this.dialog = byId("chat-instructions", HTMLDialogElement);
    this.field = byId("chat-instructions-text", HTMLTextAreaElement);
    this.newer = byId("chat-instructions-newer", HTMLElement);
    this.button = byId("chat-instruct", HTMLButtonElement);
    this.button.addEventListener("click", () => this._write(this.text));
    this.dialog.addEventListener("close", () => this.dialog.returnValue === "save" && this._take(this.field.value.trim()));
  }

  /** What a request for an answer says; "" for the project's own. */
  get text() {
    return this.unsaved ?? storedIn(this.needs.chat.session);
  }

  show() {
    this.button.toggleAttribute("data-on", this.text !== "");
    this.button.title = this.text ? "This session has instructions of its own" : "What the model is told beforehand";
  }

  /** The page shows another session now. */
  forget() {
    this.unsaved = null;
    this.dialog.close();
  }

  /** Saves what could not be saved so far. */
  async save() {
    const { chat, api, alert } = this.needs;
    const { session } = chat;
    const text = this.unsaved;
    if (text === null || !session) return;
    try {
      /** @type {{session: Session}} */
      const { session: present } = await api.get(`/sessions/${session.id}?messages=0`);
      session.metadata = present.metadata;
      if (![this.seen, text].includes(storedIn(present))) return this._differ(text, storedIn(present));
      /** @type {Session} */
      const saved = await api.call("PATCH", `/sessions/${session.id}`, { metadata: { instructions: text || null } });
      session.metadata = saved.metadata;
      this.seen = text;
      if (this.unsaved === text) this.unsaved = null;
    } catch (error) {
      if (!(error instanceof TypeError)) alert(`The instructions are not saved: ${messageOf(error)}`);
    }
    this.show();
  }

  /** @param {string} text @param {string | null} [theirs] */
  _write(text, theirs = null) {
    this.newer.hidden = theirs === null;
    one(this.newer, "pre", HTMLElement).textContent = theirs || "None: the project's own.";
    this.seen = storedIn(this.needs.chat.session);
    if (this.dialog.open) return;
    this.field.value = text;
    this.dialog.returnValue = "";
    this.dialog.showModal();
  }

  /** Nobody's words go unseen: those of somebody else stay until these are saved once more. @param {string} text @param {string} theirs */
  _differ(text, theirs) {
    this.unsaved = null;
    this.show();
    this._write(text, theirs);
  }

  /** @param {string} text */
  _take(text) {
    this.unsaved = text;
    this.show();
    this.save();
  }
}

/** @param {Session | null} session */
function storedIn(session) {
  const { instructions } = session?.metadata ?? {};
  return typeof instructions === "string" ? instructions : "";
}

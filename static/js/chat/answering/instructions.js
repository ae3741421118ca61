/**
 * What the model is told before this session's messages. They are the session's own, in its metadata. If somebody else changed them
 * while they were written here, both texts are shown before one replaces the other. What is typed or not saved yet is a draft in this
 * browser.
 */
import { byId, messageOf, one } from "../../pages/elements.js";

/**
 * @import { Connection, Session } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @typedef {Pick<Instructions, "unsaved" | "typed" | "seen">} Kept
 */

const KIND = "instructions";

export class Instructions {
  /** @param {{chat: Connection, api: Api, alert: (words: string) => void}} needs */
  constructor(needs) {
    this.needs = needs;
    /** Not saved yet: there is no session, or no connection. @type {string | null} */
    this.unsaved = null;
    /** What was stored when the writing began. */
    this.seen = "";
    /** Typed, and neither saved nor given up. @type {string | null} */
    this.typed = null;
    /** The session whose draft was read. @type {string | undefined} */
    this.read = undefined;
    this.dialog = byId("chat-instructions", HTMLDialogElement);
    this.field = byId("chat-instructions-text", HTMLTextAreaElement);
    this.newer = byId("chat-instructions-newer", HTMLElement);
    this.button = byId("chat-instruct", HTMLButtonElement);
    this.button.addEventListener("click", () => this._write(this.typed ?? this.text));
    this.field.addEventListener("input", () => this._typed(this.field.value));
    this.dialog.addEventListener("close", () => this._closed(this.dialog.returnValue));
  }

  /** What a request for an answer says; "" for the project's own. */
  get text() {
    return this.unsaved ?? storedIn(this.needs.chat.session);
  }

  show() {
    this._restore();
    this.button.toggleAttribute("data-on", this.text !== "");
    this.button.title = this.text ? "This session has instructions of its own" : "What the model is told beforehand";
  }

  /** The page shows another session now. */
  forget() {
    this._forgetTexts();
    this.read = undefined;
    this.dialog.close();
  }

  _forgetTexts() {
    this.unsaved = this.typed = null;
  }

  /** Saves what could not be saved so far. */
  async save() {
    const { chat, api, alert } = this.needs;
    const { session } = chat;
    const { unsaved: text, seen } = this;
    if (text === null || !session) return;
    // Then what this has is of the session that is shown now; the text waits as a draft of its own session.
    const isLeft = () => chat.session?.id !== session.id;
    try {
      /** @type {{session: Session}} */
      const { session: present } = await api.get(`/sessions/${session.id}?messages=0`);
      session.metadata = present.metadata;
      const isOthers = ![seen, text].includes(storedIn(present));
      if (isOthers) return isLeft() ? undefined : this._differ(text, storedIn(present));
      /** @type {Session} */
      const saved = await api.call("PATCH", `/sessions/${session.id}`, { metadata: { instructions: text || null } });
      session.metadata = saved.metadata;
      if (isLeft()) return;
      this.seen = text;
      if (this.unsaved === text) this.unsaved = null;
      this._keep();
    } catch (error) {
      if (!(error instanceof TypeError)) alert(`The instructions are not saved: ${messageOf(error)}`);
    }
    this.show();
  }

  /** @param {string} text @param {string | null} [theirs] */
  _write(text, theirs = null) {
    this.newer.hidden = theirs === null;
    one(this.newer, "pre", HTMLElement).textContent = theirs || "None: the project's own.";
    if (this.typed === null) this.seen = storedIn(this.needs.chat.session);
    if (this.dialog.open) return;
    this.field.value = text;
    this.dialog.returnValue = "";
    this.dialog.showModal();
  }

  /** Nobody's words go unseen: those of somebody else stay until these are saved once more. @param {string} text @param {string} theirs */
  _differ(text, theirs) {
    this.unsaved = null;
    this.seen = theirs;
    this._typed(text);
    this.show();
    this._write(text, theirs);
  }

  /** @param {string} text */
  _typed(text) {
    this.typed = text;
    this._keep();
  }

  /** Escape keeps what was typed. @param {string} how */
  _closed(how) {
    if (how !== "save" && how !== "cancel") return;
    this.typed = null;
    if (how === "save") this.unsaved = this.field.value.trim();
    this._keep();
    this.show();
    this.save();
  }

  _keep() {
    const { unsaved, typed, seen } = this;
    /** @type {Kept} */
    const kept = { unsaved, typed, seen };
    this.needs.chat.saveDraft(unsaved === null && typed === null ? "" : JSON.stringify(kept), KIND);
  }

  /** What this page or a former one left in the session that is shown now. */
  async _restore() {
    const { chat } = this.needs;
    const session = chat.session?.id ?? "";
    if (this.read === session) return;
    // What was written before there was a session belongs to it.
    if (this.read) this._forgetTexts();
    this.read = session;
    const draft = await chat.draft(KIND);
    if (this.read !== session) return;
    if (draft && this.unsaved === null && this.typed === null && !this.dialog.open) {
      /** @type {Kept} */
      const { unsaved, typed, seen } = JSON.parse(draft);
      Object.assign(this, { unsaved, typed, seen });
      this.show();
    }
    this.save();
  }
}

/** @param {Session | null} session */
function storedIn(session) {
  const { instructions } = session?.metadata ?? {};
  return typeof instructions === "string" ? instructions : "";
}

/**
 * Stores text that is typed and not sent, one draft per session, and restores it on load. While an earlier message is edited in the
 * same field, the draft is set aside, and a reload of this tab finds both.
 */

/**
 * @import { Connection } from "../../stillhere.js"
 * @typedef {{session: string, id: string, text: string}} Edit `id`: the message that is edited; `text`: what it became so far
 */

const KEY = "stillhereEdit";

export class ComposerDraft {
  /** @param {HTMLTextAreaElement} field @param {Pick<Connection, "draft" | "saveDraft" | "session">} chat */
  constructor(field, chat) {
    this.field = field;
    this.chat = chat;
    /** The draft, while the field has an edit. @type {string | null} */
    this.aside = null;
    /** The message that is edited. */
    this.edited = "";
    field.addEventListener("input", () => this._typed());
  }

  /** Never overwrites what is being typed. */
  async restore() {
    const text = await this.chat.draft();
    if (!text) return;
    if (this.aside !== null) this.aside ||= text;
    else if (!this.field.value) this._fill(text);
  }

  /** After a message was sent; what was set aside for an edit is the draft again. */
  sent() {
    this.chat.saveDraft(this.field.value);
  }

  /** The chat switches to another session or project, which has its own draft. */
  leave() {
    this.field.value = "";
    this.field.dispatchEvent(new Event("change"));
  }

  /** The field takes an earlier message, to be edited. @param {string} id @param {string} text */
  edit(id, text) {
    this.aside ??= this.field.value;
    this.edited = id;
    this._fill(text);
  }

  /** The edit was sent or given up: the draft is back. */
  editDone() {
    const text = this.aside ?? "";
    this.aside = null;
    keep(null);
    this._fill(text);
  }

  /** The edit that a reload interrupted. @returns {Edit | null} */
  interrupted() {
    const edit = kept();
    return edit?.session === this.chat.session?.id ? edit : null;
  }

  _typed() {
    const { value } = this.field;
    if (this.aside === null) this.chat.saveDraft(value);
    else keep({ session: this.chat.session?.id ?? "", id: this.edited, text: value });
  }

  /** As if it were typed, for those that listen to this field. @param {string} text */
  _fill(text) {
    this.field.value = text;
    this.field.dispatchEvent(new Event("input"));
  }
}

/** @returns {Edit | null} */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Edit | null} edit */
function keep(edit) {
  try {
    if (edit) sessionStorage.setItem(KEY, JSON.stringify(edit));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Blocked or full: only a reload loses the edit.
  }
}

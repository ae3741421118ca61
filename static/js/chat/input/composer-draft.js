/**
 * Stores text that is typed and not sent, one draft per session, and restores it on load. While an earlier message is edited in the
 * same field, the draft is set aside, and a reload of this tab finds both. What other tabs typed into the same session since does not
 * take the place of this tab's own.
 */

/**
 * @import { Connection } from "../../stillhere.js"
 * @typedef {{session: string, id: string, text: string}} Edit `id`: the message that is edited, "" for a draft; `text`: so far
 */

const EDIT = "stillhereEdit";
const TYPED = "stillhereTyped";

export class ComposerDraft {
  /** @param {HTMLTextAreaElement} field @param {Pick<Connection, "draft" | "saveDraft" | "session">} chat */
  constructor(field, chat) {
    this.field = field;
    this.chat = chat;
    /** The draft, while the field has an edit. @type {string | null} */
    this.aside = null;
    /** The message that is edited. */
    this.edited = "";
    /** The session that is shown. */
    this.shown = "";
    field.addEventListener("input", () => this._typed());
  }

  /** Never overwrites what is being typed. @param {string} [session] that is shown, perhaps from this browser */
  async restore(session = "") {
    this.shown = session;
    const own = kept(TYPED);
    const text = (session && own?.session === session && own.text) || (await this.chat.draft());
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
    this.field.value = this.shown = "";
    this.field.dispatchEvent(new Event("change"));
  }

  /** The field takes an earlier message, to be edited. @param {string} id @param {string} text */
  edit(id, text) {
    this.aside ??= this.field.value;
    this.edited = id;
    this._fill(text);
  }

  /** The edit was sent or given up: the draft is back. @param {string} [words] what else is to be kept */
  editDone(words) {
    const text = [this.aside, words].filter(Boolean).join("\n\n");
    this.aside = null;
    keep(EDIT, null);
    this._fill(text);
  }

  /** The edit that a reload interrupted. @returns {Edit | null} */
  interrupted() {
    const edit = kept(EDIT);
    return edit?.session === this.chat.session?.id ? edit : null;
  }

  _typed() {
    const { value: text } = this.field;
    const session = this.chat.session?.id ?? this.shown;
    if (this.aside !== null) return keep(EDIT, { session, id: this.edited, text });
    this.chat.saveDraft(text);
    keep(TYPED, { session, id: "", text });
  }

  /** As if it were typed, for those that listen to this field. @param {string} text */
  _fill(text) {
    this.field.value = text;
    this.field.dispatchEvent(new Event("input"));
  }
}

/** @param {string} name @returns {Edit | null} */
function kept(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name @param {Edit | null} edit */
function keep(name, edit) {
  try {
    sessionStorage.setItem(name, JSON.stringify(edit));
  } catch {
    // Blocked or full: only a reload loses it.
  }
}

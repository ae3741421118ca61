/** Composer drafts: text that was typed and not sent, one per session, stored like unacknowledged messages. */

/** @import { BrowserStorage } from "./browser-storage.js" */

const STORED_MS = 40;

export class Drafts {
  /**
   * @param {Pick<BrowserStorage, "keepDraft" | "stashDraft" | "draft">} storage
   * @param {() => string} session its id; "" while there is none
   * @param {() => Promise<unknown>} said resolves once all saved messages are on the disk
   */
  constructor(storage, session, said) {
    this.storage = storage;
    this.session = session;
    this.said = said;
    this.storedAt = 0;
    /** @type {{session: string, text: string, at: number} | undefined} */
    this.due = undefined;
    /** On its way to the disk: a page that closes may not get it there. @type {{session: string, text: string, at: number} | undefined} */
    this.written = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** An empty text removes the draft, but only when the message that it became is stored. @param {string} text */
  async save(text) {
    const due = { session: this.session(), text, at: Date.now() };
    this.due = due;
    if (!text) await this.said();
    if (this.due !== due) return;
    if (Date.now() - this.storedAt >= STORED_MS) this._store();
    else this.timer ??= setTimeout(() => this._store(), STORED_MS);
  }

  /** Falls back to a draft that was begun before there was a session. */
  async read() {
    if (this.due) return this.due.text;
    const session = this.session();
    const found = (await this.storage.draft(session)) ?? (session ? await this.storage.draft("") : null);
    return found?.text ?? "";
  }

  /** The page is closing. */
  flush() {
    const last = this.due ?? this.written;
    if (!last) return;
    const { session, ...draft } = last;
    this.storage.stashDraft(session, draft);
    this._store();
  }

  async _store() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.due) return;
    const written = this.due;
    const { session, ...draft } = written;
    this.due = undefined;
    this.written = written;
    this.storedAt = Date.now();
    // It may have been begun without a session.
    if (session && !draft.text) this.storage.keepDraft("", draft);
    await this.storage.keepDraft(session, draft);
    if (this.written === written) this.written = undefined;
  }
}

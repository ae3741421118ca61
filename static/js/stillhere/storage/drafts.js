/** Drafts: text that was typed and not sent, one of each kind per session, stored like unacknowledged messages. */
import { now } from "../util.js";

/** @import { BrowserStorage } from "./browser-storage.js" */

const STORED_MS = 40;

export class Drafts {
  /**
   * @param {Pick<BrowserStorage, "keepDraft" | "stashDraft" | "draft" | "draftKinds">} storage
   * @param {() => string} session its id; "" while there is none
   * @param {() => Promise<unknown>} said resolves once all saved messages are on the disk
   */
  constructor(storage, session, said) {
    this.storage = storage;
    /** @param {string} kind */
    this.make = (kind) => new Draft(storage, session, said, kind);
    /** @type {Map<string, Draft>} */
    this.kinds = new Map();
  }

  /** @param {string} text @param {string} [kind] */
  save(text, kind) {
    return this._of(kind).save(text);
  }

  /** @param {string} [kind] */
  read(kind) {
    return this._of(kind).read();
  }

  flush() {
    for (const draft of this.kinds.values()) draft.flush();
  }

  /** What was begun in one session, by whichever page, belongs to another one. @param {string} from @param {string} to */
  async join(from, to) {
    for (const draft of this.kinds.values()) draft.renamed(from, to);
    for (const kind of ["", ...(await this.storage.draftKinds(from))]) this._of(kind);
    await Promise.all([...this.kinds.values()].map((draft) => draft.join(from, to)));
  }

  _of(kind = "") {
    const draft = this.kinds.get(kind) ?? this.make(kind);
    this.kinds.set(kind, draft);
    return draft;
  }
}

class Draft {
  /**
   * @param {Pick<BrowserStorage, "keepDraft" | "stashDraft" | "draft">} storage @param {() => string} session
   * @param {() => Promise<unknown>} said @param {string} kind "" for the message that is written
   */
  constructor(storage, session, said, kind) {
    this.storage = storage;
    this.session = session;
    this.said = said;
    /** Under which it is stored. @param {string} id of a session */
    this.name = (id) => (kind ? `${id}#${kind}` : id);
    this.storedAt = -Infinity;
    /** When this page was last told a text. */
    this.savedAt = 0;
    /** @type {{session: string, text: string, at: number} | undefined} */
    this.due = undefined;
    /** On its way to the disk: a page that closes may not get it there. @type {{session: string, text: string, at: number} | undefined} */
    this.written = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** An empty text removes the draft, but only when the message that it became is stored. @param {string} text */
  async save(text) {
    const due = { session: this.session(), text, at: now() };
    this.due = due;
    this.savedAt = due.at;
    if (!text) await this.said();
    if (this.due !== due) return;
    if (performance.now() - this.storedAt >= STORED_MS) this._store();
    else this.timer ??= setTimeout(() => this._store(), STORED_MS);
  }

  /** Falls back to a draft that was begun before there was a session. */
  async read() {
    if (this.due) return this.due.text;
    const session = this.session();
    const found = (await this.storage.draft(this.name(session))) ?? (session ? await this.storage.draft(this.name("")) : null);
    return found?.text ?? "";
  }

  /** @param {string} from @param {string} to */
  renamed(from, to) {
    for (const one of [this.due, this.written]) if (one?.session === from) one.session = to;
  }

  /** The newer one stays. @param {string} from @param {string} to */
  async join(from, to) {
    this.renamed(from, to);
    const draft = await this.storage.draft(this.name(from));
    if (!draft) return;
    const there = await this.storage.draft(this.name(to));
    if ((there?.at ?? 0) < draft.at && this.savedAt <= draft.at) await this.storage.keepDraft(this.name(to), draft);
    await this.storage.keepDraft(this.name(from), { ...draft, text: "" });
  }

  /** The page is closing. */
  flush() {
    const last = this.due ?? this.written;
    if (!last) return;
    const { session, ...draft } = last;
    this.storage.stashDraft(this.name(session), draft);
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
    this.storedAt = performance.now();
    // It may have been begun without a session.
    if (session && !draft.text) this.storage.keepDraft(this.name(""), draft);
    await this.storage.keepDraft(this.name(session), draft);
    if (this.written === written) this.written = undefined;
  }
}

/**
 * What this browser stores besides requests: the mirror that `peek()` reads, unacknowledged agent states, and composer drafts.
 * The mirror, a copy of what the server has, is in localStorage; the others are in IndexedDB, and in localStorage while a page
 * closes.
 */
import { follows, now } from "../util.js";
import { Database, warningOf } from "./database.js";

/**
 * @import { KeptDraft, KeptState, MirrorContent, Warn } from "../types.d.ts"
 * @import { LocalStore } from "./local-storage.js"
 * @typedef {KeptState | KeptDraft} Kept
 */

const MIRROR_MESSAGES = 200;
const MIRROR_CHARACTERS = 1_000_000;
const MIRROR_STATE_CHARACTERS = 200_000;
const END = "\uffff";

export class BrowserStorage {
  /** @param {string} scope @param {LocalStore} local @param {Warn} warn */
  constructor(scope, local, warn) {
    this.scope = scope;
    this.local = local;
    this.warn = warn;
    this.database = new Database("stillhere-kept", "kept", {});
    this.database.openedLate = () => {
      for (const [name, content] of this.memory) this.keep(name, content);
    };
    /** Not yet written, or could not be written; null: removed. @type {Map<string, Kept | null>} */
    this.memory = new Map();
  }

  // Unacknowledged agent states, one per page load.

  /** @param {string} writer @param {KeptState | null} content without `at` it is kept now */
  keepState(writer, content) {
    const name = this._stateName(writer);
    const kept = content && { at: now(), ...content };
    if (kept) this.local.set(name, kept);
    else this.local.remove(name);
    this.keep(name, kept);
  }

  /** Synchronous: `[writer, content]` of those in localStorage. @returns {[string, KeptState][]} */
  stashedStates() {
    return this.local.listed(this._stateName(""));
  }

  /** `[writer, content]`, the oldest first. */
  async keptStates() {
    const prefix = this._stateName("");
    const listed = /** @type {[string, KeptState][]} */ (await this.listed(prefix));
    const states = new Map(listed.map(([name, content]) => [name.slice(prefix.length), content]));
    for (const [writer, content] of this.stashedStates()) {
      if ((states.get(writer)?.at ?? 0) < (content.at ?? 1)) states.set(writer, content);
    }
    return [...states].sort(([, one], [, other]) => (one.at ?? 1) - (other.at ?? 1));
  }

  // Drafts, one per session. A sent one is stored as an empty text, because localStorage may still hold an older one.

  /** @param {string} session @param {KeptDraft} draft */
  keepDraft(session, draft) {
    if (!draft.text) this.local.remove(this._draftName(session));
    return this.keep(this._draftName(session), draft);
  }

  /** @param {string} session @param {KeptDraft} draft */
  stashDraft(session, draft) {
    this.local.set(this._draftName(session), draft);
  }

  /** @param {string} session @returns {Promise<KeptDraft | null>} */
  async draft(session) {
    const name = this._draftName(session);
    /** @type {(store: IDBObjectStore) => IDBRequest<KeptDraft | undefined>} */
    const read = (store) => store.get(name);
    const unwritten = /** @type {KeptDraft | undefined} */ (this.memory.get(name));
    const kept = unwritten ?? (await this.database.run("readonly", read).catch(() => null));
    const stashed = /** @type {KeptDraft | null} */ (this.local.get(name));
    const newest = (stashed?.at ?? 0) > (kept?.at ?? 0) ? stashed : kept;
    follows(newest?.at);
    return newest?.text ? newest : null;
  }

  /** The named kinds of a session's drafts. @param {string} session @returns {Promise<string[]>} */
  async draftKinds(session) {
    const prefix = this._draftName(`${session}#`);
    const kept = (await this.listed(prefix)).map(([name]) => name.slice(prefix.length));
    return [...kept, ...this.local.listed(prefix).map(([kind]) => kind)];
  }

  // The mirror.

  /** @param {MirrorContent} content */
  mirror(content) {
    const messages = content.messages.slice(-MIRROR_MESSAGES);
    if (JSON.stringify(content.agentState ?? null).length > MIRROR_STATE_CHARACTERS) content.agentState = null;
    let size = JSON.stringify({ ...content, messages }).length;
    while (size > MIRROR_CHARACTERS && messages.length > 1) {
      messages.splice(0, Math.ceil(messages.length / 2));
      size = JSON.stringify({ ...content, messages }).length;
    }
    this.local.set(this._mirrorName(), { ...content, messages }, { mirror: true });
  }

  /** @returns {MirrorContent | null} */
  mirrored() {
    return this.local.get(this._mirrorName());
  }

  forgetMirror() {
    this.local.remove(this._mirrorName());
  }

  /** If that fails the value is kept in memory, with a warning. @param {string} name @param {Kept | null} content */
  async keep(name, content) {
    this.memory.set(name, content);
    try {
      await this.database.run("readwrite", (store) => void (content ? store.put(content, name) : store.delete(name)));
      if (this.memory.get(name) === content) this.memory.delete(name);
    } catch (error) {
      this.warn(warningOf(error), error);
    }
  }

  /** `[name, content]` @param {string} prefix @returns {Promise<[string, Kept][]>} */
  async listed(prefix) {
    const range = () => IDBKeyRange.bound(prefix, prefix + END);
    const [names, contents] = await Promise.all([
      this.database.run("readonly", (store) => /** @type {IDBRequest<string[]>} */ (store.getAllKeys(range()))),
      this.database.run("readonly", (store) => /** @type {IDBRequest<Kept[]>} */ (store.getAll(range()))),
    ]).catch(() => /** @type {[string[], Kept[]]} */ ([[], []]));
    /** @type {Map<string, Kept | null>} */
    const kept = new Map(names.map((name, at) => [name, contents[at]]));
    for (const [name, content] of this.memory) if (name.startsWith(prefix)) kept.set(name, content);
    return [...kept].flatMap(([name, content]) => (content ? [[name, content]] : []));
  }

  /** @param {string} session */
  _draftName(session) {
    return `stillhere:draft:${this.scope}:${session}`;
  }

  /** @param {string} writer */
  _stateName(writer) {
    return `stillhere:state:${this.scope}:${writer}`;
  }

  _mirrorName() {
    return `stillhere:mirror:${this.scope}`;
  }
}

/**
 * What survives the tab. IndexedDB holds the requests that were not answered yet; localStorage, which can be written
 * while a page is closing, holds what was not made into a request (the stash) and the mirror that `peek()` paints from.
 */
import { inTurn, supported } from "./locks.js";
import { within } from "./tools.js";

const DATABASE = "stillhere";
const MIRROR_MESSAGES = 200;
const MIRROR_CHARACTERS = 1_000_000;
const MIRROR_STATE_CHARACTERS = 200_000;
const DEAD_AFTER_MS = 20_000;
const DYING_MS = 250;

function openDatabase() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("queue", { keyPath: "key" }).createIndex("scope", "scope");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => reject(new Error("blocked"));
  });
}

/** Without Web Locks only a stash that is not written any more counts as left behind. */
const mayBeOver = (content) => supported() || Date.now() - (content?.at ?? 0) > DEAD_AFTER_MS;

export const keyOf = (entry) => `${entry.session}/${entry.writer}/${String(entry.seq).padStart(9, "0")}`;

export class Storage {
  /** @param {string} scope server, account and project @param {(code: string, error: unknown) => void} warn */
  constructor(scope, warn) {
    this.scope = scope;
    this.warn = warn;
    this.memory = new Map();
    this.heirs = new Map();
    this.ended = new AbortController();
  }

  /** Keep a request until it is answered. Where the disk is full it is kept in memory, and the caller is warned. */
  async put(entry) {
    entry.key = keyOf(entry);
    this.memory.set(entry.key, entry);
    await this._do("readwrite", (queue) => queue.put(entry)).then(
      () => {
        entry.kept = true;
        this.memory.delete(entry.key);
      },
      (error) => this.warn("storage_full", error),
    );
  }

  async remove(entry) {
    this.memory.delete(entry.key);
    await this._do("readwrite", (queue) => queue.delete(entry.key)).catch(() => {});
  }

  /** All unanswered requests of this scope, in the order in which they have to go. */
  async all() {
    const stored = await this._do("readonly", (queue) => queue.index("scope").getAll(this.scope)).catch(() => []);
    const merged = new Map(stored.map((entry) => [entry.key, entry]));
    for (const [key, entry] of this.memory) merged.set(key, entry);
    return [...merged.values()].sort((a, b) => a.at - b.at || a.seq - b.seq);
  }

  async _do(mode, act) {
    this.database ??= openDatabase();
    const database = await this.database.catch((error) => {
      this.database = undefined;
      throw error;
    });
    return new Promise((resolve, reject) => {
      const transaction = database.transaction("queue", mode, { durability: "relaxed" });
      const request = act(transaction.objectStore("queue"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? request.error);
      transaction.onerror = () => reject(transaction.error ?? request.error);
    });
  }

  // The stash: synchronous, one for each page load.

  /** @returns {boolean} whether it is kept */
  stash(writer, content) {
    const name = this._stashName(writer);
    if (content === null) {
      localStorage.removeItem(name);
      return true;
    }
    if (this._write(name, JSON.stringify({ ...content, at: Date.now() }))) return true;
    // What stands there is older than what was sent since under the same number: worse than nothing.
    localStorage.removeItem(name);
    return false;
  }

  /** The stashes of this scope: `[writer, content]`. */
  stashes() {
    return this._listed(this._stashName(""));
  }

  _listed(prefix) {
    const found = [];
    for (let i = 0; i < localStorage.length; i += 1) {
      const name = localStorage.key(i);
      if (!name.startsWith(prefix)) continue;
      const content = this._read(name);
      if (content) found.push([name.slice(prefix.length), content]);
    }
    return found;
  }

  /** Turn what ended tabs left into requests under their old names. `own` is the writer of this page. */
  async adopt(own) {
    const writers = this.stashes().filter(([writer, content]) => writer !== own && mayBeOver(content));
    await within(Promise.all(writers.map(([writer]) => this._inherit(writer))), DYING_MS);
  }

  /** From now on, whenever another tab ends: `inherited` is called when it left something. */
  watch(own, inherited) {
    this.inherited = inherited;
    const prefix = this._stashName("");
    const heard = ({ key, newValue }) => {
      if (newValue && key?.startsWith(prefix) && key !== this._stashName(own)) this._inherit(key.slice(prefix.length));
    };
    globalThis.addEventListener("storage", heard, { signal: this.ended.signal });
  }

  close() {
    this.ended.abort();
  }

  /** A writer's lock is free once its tab has ended, which may be a moment after the next page has begun. */
  _inherit(writer) {
    if (!this.heirs.has(writer) && (supported() || mayBeOver(this._read(this._stashName(writer))))) {
      const taken = inTurn(`stillhere:writer:${writer}`, () => this._takeOver(writer), this.ended.signal);
      this.heirs.set(writer, taken.catch(() => {}).finally(() => this.heirs.delete(writer)));
    }
    return this.heirs.get(writer);
  }

  async _takeOver(writer) {
    const left = this._read(this._stashName(writer))?.entries ?? [];
    for (const entry of left) await this.put(entry);
    this.stash(writer, null);
    if (left.length > 0) this.inherited?.();
  }

  // An agent's state that was not acknowledged yet, one for each page load.

  keepState(writer, content) {
    if (content === null) localStorage.removeItem(this._stateName(writer));
    else this._write(this._stateName(writer), JSON.stringify(content));
  }

  keptStates() {
    return this._listed(this._stateName(""));
  }

  _stateName(writer) {
    return `stillhere:state:${this.scope}:${writer}`;
  }

  // The mirror.

  mirror(content) {
    const messages = content.messages.slice(-MIRROR_MESSAGES);
    if (JSON.stringify(content.agentState ?? null).length > MIRROR_STATE_CHARACTERS) content.agentState = null;
    let text = JSON.stringify({ ...content, messages });
    while (text.length > MIRROR_CHARACTERS && messages.length > 1) {
      messages.splice(0, Math.ceil(messages.length / 2));
      text = JSON.stringify({ ...content, messages });
    }
    this._write(this._mirrorName(), text, { quiet: true });
  }

  mirrored() {
    return this._read(this._mirrorName());
  }

  forgetMirror() {
    localStorage.removeItem(this._mirrorName());
  }

  _stashName(writer) {
    return `stillhere:stash:${this.scope}:${writer}`;
  }

  _mirrorName() {
    return `stillhere:mirror:${this.scope}`;
  }

  _read(name) {
    try {
      return JSON.parse(localStorage.getItem(name) ?? "null");
    } catch {
      return null;
    }
  }

  /** Mirrors are copies of what the server has, so they make room for what it does not have yet. */
  _write(name, text, { quiet = false } = {}) {
    for (let room = true; room; room = !quiet && this._dropAMirror(name)) {
      try {
        localStorage.setItem(name, text);
        return true;
      } catch (error) {
        this.lastError = error;
      }
    }
    this.warn("storage_full", this.lastError);
    return false;
  }

  _dropAMirror(except) {
    for (let i = 0; i < localStorage.length; i += 1) {
      const name = localStorage.key(i);
      if (name.startsWith("stillhere:mirror:") && name !== except) {
        localStorage.removeItem(name);
        return true;
      }
    }
    return false;
  }
}

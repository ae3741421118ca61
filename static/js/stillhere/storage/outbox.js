/**
 * The unanswered requests of one scope (server, account and project), in IndexedDB and shared by all tabs. A request with
 * `draft` is not sent while its page lives, because the page still adds to it. When a page has ended, another one sends what it left,
 * drafts included, under the old `writer_id` and `seq`.
 */

import { isCreation, keyOf, laneOf, rerouted } from "../sending/requests.js";
import { follows, within } from "../util.js";
import { supported } from "../web-locks.js";
import { Database, warningOf } from "./database.js";
import { Heirs } from "./heirs.js";

/**
 * @import { Entry, Joined, Warn } from "../types.d.ts"
 * @import { LocalStore } from "./local-storage.js"
 * @typedef {{entries?: Entry[], instead?: string[], at?: number}} Stash `instead`: keys of the stored drafts that the entries replace
 */

const DEAD_AFTER_MS = 20_000;
const DYING_MS = 250;

/** Without Web Locks only entries that are no longer updated count as left behind. */
export const mayBeOver = (/** @type {number | undefined} */ at) => supported() || Date.now() - (at ?? 0) > DEAD_AFTER_MS;

/** By time; within a lane by `seq`, because the clock may be set back. @param {Entry[]} entries */
function inOrder(entries) {
  /** @type {Map<string, number>} */
  const latest = new Map();
  /** @type {Map<Entry, number>} */
  const times = new Map();
  for (const entry of entries.sort((a, b) => a.seq - b.seq)) {
    follows(entry.at);
    const at = Math.max(entry.at, latest.get(laneOf(entry)) ?? 0);
    latest.set(laneOf(entry), at);
    times.set(entry, at);
  }
  const timeOf = (/** @type {Entry} */ entry) => times.get(entry) ?? entry.at;
  return entries.sort((a, b) => timeOf(a) - timeOf(b) || a.seq - b.seq);
}

export class Outbox {
  /**
   * @param {string} scope @param {LocalStore} local @param {Warn} warn
   * @param {() => void} inherited is called after each takeover
   */
  constructor(scope, local, warn, inherited) {
    this.scope = scope;
    this.local = local;
    this.warn = warn;
    this.inherited = inherited;
    this.database = new Database("stillhere", "queue", { keyPath: "key" }, "scope");
    this.database.openedLate = () => this._storeMemory();
    /** Not yet written, or could not be written. @type {Map<string, Entry>} */
    this.memory = new Map();
    /** Ended writers whose stash stays: the disk did not take it over. @type {Set<string>} */
    this.unstored = new Set();
    this.heirs = new Heirs();
    /** The writer of this page. */
    this.own = "";
  }

  /**
   * Store requests and remove those with the keys `instead`, in one transaction. If that fails they are kept in memory, with a
   * warning. @param {Entry[]} entries @param {string[]} [instead] @returns {Promise<boolean>} whether they are on the disk
   */
  async put(entries, instead = []) {
    const keys = entries.map(({ key }) => key);
    for (const key of instead) this.memory.delete(key);
    for (const entry of entries) this.memory.set(entry.key, entry);
    const write = (/** @type {IDBObjectStore} */ queue) => {
      for (const key of instead) queue.delete(key);
      for (const entry of entries) queue.put(entry);
    };
    try {
      await this.database.run("readwrite", write);
    } catch (error) {
      this.warn(warningOf(error), error);
      return false;
    }
    // One that was meant for another session meanwhile has another key.
    for (const [at, entry] of entries.entries()) if (this.memory.get(keys[at]) === entry) this.memory.delete(keys[at]);
    return true;
  }

  /** @param {Pick<Entry, "key">} entry */
  async remove({ key }) {
    this.memory.delete(key);
    for (const writer of this.unstored) this._unstash(writer, key);
    await this.database.run("readwrite", (queue) => queue.delete(key)).catch(() => {});
  }

  /** Is this request still unanswered, as far as any tab knows? @param {Pick<Entry, "key">} entry */
  async has({ key }) {
    return (await this.all()).some((entry) => entry.key === key);
  }

  /** All unanswered requests in sending order. */
  async all() {
    /** @type {(queue: IDBObjectStore) => IDBRequest<Entry[]>} */
    const read = (queue) => queue.index("scope").getAll(this.scope);
    const stored = await this.database.run("readonly", read).catch(() => []);
    const merged = new Map(stored.map((entry) => [entry.key, entry]));
    for (const [key, entry] of this.memory) merged.set(key, entry);
    return inOrder([...merged.values()]);
  }

  /**
   * These and the stashes of all pages, in sending order. @param {Entry[]} earlier what there was at some time before: it may have been
   * sent since
   */
  async withStashes(earlier) {
    const known = [...earlier, ...(await this.all()), ...this.stashed()];
    return inOrder([...new Map(known.map((entry) => [entry.key, entry])).values()]);
  }

  /**
   * Is a session still to be made? Not one of a page that lives and may yet find another.
   * @param {string} [id] this one; left out: any
   */
  async begun(id) {
    const creations = (await this.all()).filter(isCreation);
    return creations.some(({ session }) => id === undefined || session === id);
  }

  /** Requests of all pages, their stashes too, that were meant for a session that is never made. @param {Joined} joined */
  async join(joined) {
    const isMeant = (/** @type {Entry} */ { session }) => session === joined.from;
    const going = (/** @type {Entry[]} */ entries) =>
      entries.flatMap((entry) => (!isMeant(entry) ? entry : entry.kind === "create" ? [] : rerouted(entry, joined)));
    const unwritten = [...this.memory.values()].filter(isMeant);
    // Read and written at once: what a page replaces meanwhile must not come back.
    const move = (/** @type {IDBObjectStore} */ queue) => {
      /** @type {IDBRequest<Entry[]>} */
      const found = queue.index("scope").getAll(this.scope);
      found.onsuccess = () => {
        const meant = found.result.filter(isMeant);
        for (const { key } of meant) queue.delete(key);
        for (const entry of going(meant)) queue.put(entry);
      };
    };
    await this.database.run("readwrite", move, true).catch((error) => this.warn(warningOf(error), error));
    if (unwritten.length > 0) await this.put(going(unwritten), unwritten.map(keyOf));
    for (const [writer, { entries = [], instead }] of this._stashes())
      if (entries.some(isMeant)) this.stash(writer, going(entries), instead);
  }

  /**
   * An ended page's requests of another scope of the same account belong to this one. @param {string} from the other scope
   * @param {string} [writer] of that page; left out: none is taken
   * @returns {Promise<[string, number][]>} the writers that have requests there, and when each made its last one
   */
  async take(from, writer = "") {
    /** @type {Map<string, number>} */
    const writers = new Map();
    const move = (/** @type {IDBObjectStore} */ queue) => {
      /** @type {IDBRequest<Entry[]>} */
      const found = queue.index("scope").getAll(from);
      found.onsuccess = () => {
        for (const entry of found.result) {
          writers.set(entry.writer, Math.max(entry.at, writers.get(entry.writer) ?? 0));
          if (entry.writer === writer) queue.put({ ...entry, scope: this.scope });
        }
      };
    };
    await this.database.run("readwrite", move, true).catch((error) => this.warn(warningOf(error), error));
    return [...writers];
  }

  /** And send what earlier pages left, which could not be read until now. */
  async _storeMemory() {
    await this.put([...this.memory.values()]);
    await this.adopt(this.own);
    this.inherited();
  }

  // The stash: requests that are not in IndexedDB yet, one stash for each page load.

  /** @param {string} writer @param {Entry[]} entries @param {string[]} [instead] */
  stash(writer, entries, instead = []) {
    const name = this._stashName(writer);
    const kept = entries.length > 0 && this.local.set(name, { entries, instead, at: Date.now() });
    if (!kept) this.local.remove(name);
  }

  /** Of an ended page's. @param {string} writer @param {string} key */
  _unstash(writer, key) {
    const { entries = [], instead } = this._stashOf(writer);
    const left = entries.filter((entry) => keyOf(entry) !== key);
    this.stash(writer, left, instead);
    if (left.length === 0) this.unstored.delete(writer);
  }

  /** What the pages of this scope stashed, in sending order. */
  stashed() {
    return inOrder(this._stashes().flatMap(([, content]) => content.entries ?? []));
  }

  // Pages that have ended.

  /** Take over what ended pages left. @param {string} own the writer of this page */
  async adopt(own) {
    this.own = own;
    const drafts = (await this.all()).filter((entry) => entry.draft);
    /** @type {Map<string, number | undefined>} */
    const writers = new Map(drafts.map(({ writer, at }) => [writer, at]));
    for (const [writer, { at }] of this._stashes()) writers.set(writer, at);
    writers.delete(own);
    const ended = [...writers].filter(([, at]) => mayBeOver(at));
    await within(Promise.all(ended.map(([writer]) => this.inherit(writer))), DYING_MS);
  }

  /** Take over when this writer's page has ended. @param {string} writer */
  inherit(writer) {
    return this.heirs.inherit(writer, () => this._takeOver(writer));
  }

  close() {
    this.heirs.close();
  }

  /** @param {string} writer */
  async _takeOver(writer) {
    const { entries: stashed = [], instead = [] } = this._stashOf(writer);
    const drafts = (await this.all()).filter((entry) => entry.draft && entry.writer === writer && !instead.includes(entry.key));
    const left = [...drafts, ...stashed].map(({ draft: _, ...entry }) => ({ ...entry, key: keyOf(entry) }));
    if (left.length === 0 || (await this.put(left, instead))) this.stash(writer, []);
    else this.unstored.add(writer);
    if (left.length > 0) this.inherited();
  }

  /** @param {string} writer */
  _stashOf(writer) {
    return /** @type {Stash | null} */ (this.local.get(this._stashName(writer))) ?? {};
  }

  /** `[writer, stash]` @returns {[string, Stash][]} */
  _stashes() {
    return this.local.listed(this._stashName(""));
  }

  /** @param {string} writer */
  _stashName(writer) {
    return `stillhere:stash:${this.scope}:${writer}`;
  }
}

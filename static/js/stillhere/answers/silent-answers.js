/**
 * A streaming answer whose writer is gone: a minute after its last write the server calls it interrupted, of which no event tells. So
 * the page reads it again then. What this page writes itself, and what the server makes, end in their own way.
 */

/**
 * @import { Frame, StoredMessage } from "../../stillhere.js"
 * @import { SilentNeeds } from "../needs.d.ts"
 * @import { Emit } from "../types.d.ts"
 *
 * @typedef {{id: string, at: number, again: number}} Due `at`: when it is read next; `again`: how often after that, if nothing changed
 */

// As on the server, and a moment more.
const SILENT_MS = 60_500;
// This machine's clock may be wrong: then it is still streaming. After the last of these a minute has passed in any case.
const AGAIN_MS = 20_000;
const AGAIN = 3;
const LISTS = new Set(["restored", "changed", "cleared"]);

/** The same, and `watch` after each list that the page gets. @param {Emit} emit @param {() => void} watch @returns {Emit} */
export function watching(emit, watch) {
  const tell = (/** @type {string} */ type, /** @type {Frame} */ detail) => {
    emit(type, detail);
    if (LISTS.has(type)) watch();
  };
  return /** @type {Emit} */ (tell);
}

export class SilentAnswers {
  /** @param {SilentNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** By message and the time of its last write. @type {Map<string, Due>} */
    this.due = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.looking = false;
    this.closed = false;
    this.seen = () => this.watch();
    document.addEventListener("visibilitychange", this.seen);
  }

  /** The list may have changed. */
  watch() {
    clearTimeout(this.timer);
    if (this.looking || this.closed) return;
    const messages = [...this.needs.store.messages.values()].filter((message) => this._isOthers(message));
    this.due = new Map(messages.map((message) => this._dueOf(message)));
    const next = Math.min(...[...this.due.values()].map(({ at }) => at));
    // A hidden page makes no requests.
    if (!document.hidden && next < Infinity) this.timer = setTimeout(() => this._look(), Math.max(0, next - performance.now()));
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
  }

  /** @param {StoredMessage} message */
  _isOthers({ id, status, updated_at }) {
    const { store, answers } = this.needs;
    return status === "streaming" && updated_at && !store.held.get(id)?.mine && answers.shown?.message !== id;
  }

  /** @param {StoredMessage} message @returns {[string, Due]} */
  _dueOf({ id, updated_at = "" }) {
    const name = `${id} ${updated_at}`;
    const wait = Math.min(SILENT_MS, Math.max(0, Date.parse(updated_at) + SILENT_MS - Date.now()));
    return [name, this.due.get(name) ?? { id, at: performance.now() + wait, again: AGAIN }];
  }

  async _look() {
    const now = performance.now();
    const silent = [...this.due.values()].filter(({ at }) => at <= now);
    for (const one of silent) one.at = one.again-- > 0 ? now + AGAIN_MS : Infinity;
    this.looking = true;
    await this.needs.catchUp.reread(silent.map(({ id }) => id)).finally(() => {
      this.looking = false;
    });
    this.watch();
  }
}

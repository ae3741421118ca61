/** The session's older messages: a resume returns the newest ones, the others are read by page. */

/**
 * @import { StoredMessage } from "../../stillhere.js"
 * @import { OlderNeeds } from "../needs.d.ts"
 *
 * @typedef {{items: StoredMessage[], next: string | null}} Page
 */

const PAGE = 100;
const MOST_READS = 5;

export class OlderMessages {
  /** @param {OlderNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** The oldest message that is loaded. @type {StoredMessage | null} */
    this.edge = null;
    /** Which session and epoch this is about. */
    this.of = "";
    this._unread = 0;
  }

  /** How many messages of the present session are not loaded. */
  get unread() {
    return this.of === this._present ? this._unread : 0;
  }

  /**
   * The session was read: these are its newest messages. @param {StoredMessage[]} items
   * @param {boolean} more are there older ones? A session with branches also counts the messages of its other versions.
   */
  begin(items, more) {
    this.of = this._present;
    this.edge = items[0] ?? null;
    this._unread = !more ? 0 : Math.max(1, (this.needs.state.session?.message_count ?? 0) - items.length);
  }

  /** A change to a message that is not loaded: without its neighbours it would be shown in the wrong place. @param {StoredMessage} item */
  leavesOut({ id, position = 0 }) {
    return this.unread > 0 && position < (this.edge?.position ?? 0) && !this.needs.store.messages.has(id);
  }

  async older(limit = PAGE) {
    const { state, store } = this.needs;
    if (this.unread > 0 && this.edge && state.session) await this._read(state.session.id, this.edge, limit);
    const messages = store.tell();
    return { messages, total: messages.length + this.unread, more: this.unread > 0 };
  }

  /** @param {string} session @param {StoredMessage} edge @param {number} limit */
  async _read(session, edge, limit) {
    const { http, state } = this.needs;
    const { of } = this;
    const path = `/sessions/${session}/messages?before=${encodeURIComponent(edge.id)}&limit=${limit}`;
    for (let left = MOST_READS; ; left -= 1) {
      const { baseRev } = state;
      /** @type {Page} */
      const page = await http.get(path);
      // Another session meanwhile, or this one was cleared: it has its own older messages. Or they were read by another call.
      if (of !== this.of || of !== this._present || edge !== this.edge) return;
      // Changes to messages that were not loaded were left out meanwhile: the answer may be older.
      if (baseRev === state.baseRev || left === 1) return this._take(page);
    }
  }

  /** @param {Page} page */
  _take({ items, next }) {
    const { store, queue } = this.needs;
    for (const item of items) if (!queue.holds(item.id) && !store.tombstones.has(item.id)) store.fromServer(item);
    this.edge = items[0] ?? this.edge;
    this._unread = next === null ? 0 : Math.max(1, this._unread - items.length);
  }

  get _present() {
    return `${this.needs.state.session?.id}/${this.needs.queue.epoch}`;
  }
}

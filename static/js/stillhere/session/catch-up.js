/** Reads the session's changes. Unsent changes of this page are kept. */
import { ApiError } from "../server/http.js";

/**
 * @import { StoredMessage } from "../../stillhere.js"
 * @import { CatchUpNeeds } from "../needs.d.ts"
 * @import { ChangesPage } from "../types.d.ts"
 */

export class CatchUp {
  /** @param {CatchUpNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** @type {Promise<void> | null} */
    this.reading = null;
    this.again = false;
    this.closed = false;
  }

  /** Resolves when everything up to now is read. */
  async run() {
    const { session } = this.needs.state;
    if (!session || this._overtaken(session)) return;
    if (this.reading) this.again = true;
    else this.reading = this._all();
    await this.reading;
  }

  /**
   * Reads these messages whole. What others did to a message while this page was changing it was left out of `run`, and what an
   * answer says of the server's version is short. @param {string[]} ids
   */
  async reread(ids) {
    const { state, store, queue, mirror, emit } = this.needs;
    if (!state.session) return;
    const { id: session, epoch } = state.session;
    const isDue = (/** @type {string} */ id) =>
      !this.closed && !this._overtaken({ id: session, epoch }) && store.messages.has(id) && !queue.holds(id);
    for (const id of ids) {
      const item = isDue(id) ? await this._message(session, id) : null;
      if (item === null || !isDue(id)) continue;
      // What was read meanwhile may be newer.
      const isNews = item ? (item.ver ?? 0) >= store.verOf(id) && store.fromServer(item) : store.remove(id);
      if (!isNews) continue;
      emit("changed", { messages: store.tell(), changed: item ? [id] : [], removed: item ? [] : [id] });
      mirror.write();
    }
  }

  close() {
    this.closed = true;
  }

  /** Undefined: it is removed; null: the read is refused. @param {string} session @param {string} id */
  _message(session, id) {
    const { http, patiently } = this.needs;
    /** @type {() => Promise<StoredMessage | undefined>} */
    const ask = () =>
      http.get(`/sessions/${session}/messages/${encodeURIComponent(id)}`).catch((error) => {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        return undefined;
      });
    return patiently(ask);
  }

  async _all() {
    try {
      do {
        this.again = false;
        await this._read();
      } while (this.again && !this.closed);
    } finally {
      this.reading = null;
    }
  }

  /**
   * Has this page turned to another session meanwhile, or cleared the chat? Then the result belongs to what it showed before.
   * @param {{id: string, epoch: number}} read
   */
  _overtaken({ id, epoch }) {
    const { state, queue } = this.needs;
    return id !== state.session?.id || epoch < state.session.epoch || queue.clears;
  }

  async _read() {
    const { http, state, epochChange, patiently } = this.needs;
    const session = state.session?.id ?? "";
    for (let more = true; more && !this.closed; ) {
      const path = `/sessions/${session}/messages?limit=500&since_rev=${state.baseRev}`;
      /** @type {ChangesPage | null} */
      const page = await patiently(() => http.get(path));
      if (!page || this._overtaken({ id: session, epoch: page.epoch })) return;
      if (page.epoch !== state.session?.epoch) return epochChange.found(page.epoch);
      // Meanwhile the page read all of this, and may have changed some of it.
      if (page.rev < state.baseRev) break;
      more = page.more && page.rev > state.baseRev;
      this._take(page);
    }
    state.isCurrent();
  }

  /** Takes and tells it before the next one is read: the page says nothing on what was removed. @param {ChangesPage} page */
  _take(page) {
    const { state, store, queue, mirror, emit } = this.needs;
    const changed = page.items.filter((item) => this._takeItem(item)).map(({ id }) => id);
    // Not what the page took out itself: what it says on that again is the server's to keep.
    const removed = page.removed.filter((id) => !queue.holds(id) && store.messages.has(id) && store.remove(id));
    state.caughtUp(page.rev);
    if (page.head !== undefined) state.atHead(page.head);
    if (changed.length + removed.length === 0 && !store.reordered) return;
    emit("changed", { messages: store.tell(), changed, removed });
    mirror.write();
  }

  /** @param {StoredMessage} item @returns {boolean} whether the page has something else to show now */
  _takeItem(item) {
    const { store, queue, olderMessages } = this.needs;
    if (olderMessages.leavesOut(item)) return false;
    if (!queue.holds(item.id)) return store.fromServer(item);
    store.place(item.id, item.position);
    return false;
  }
}

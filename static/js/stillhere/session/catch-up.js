/** Reads the session's changes. Unsent changes of this page are kept. */

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

  close() {
    this.closed = true;
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
    const removed = page.removed.filter((id) => !queue.holds(id) && store.remove(id));
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

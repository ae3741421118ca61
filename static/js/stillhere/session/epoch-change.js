/**
 * Another page or agent cleared the chat. First this page sends its unsent text under the old epoch: the server keeps it as
 * conflict copies. Then it shows the empty chat, and writes nothing of the old one again unless the clear is undone.
 */

/**
 * @import { Session } from "../../stillhere.js"
 * @import { EpochNeeds } from "../needs.d.ts"
 * @import { Entry, SentOperation } from "../types.d.ts"
 *
 * @typedef {{restored: boolean, cleared: boolean, turned: boolean, settled: Promise<unknown>}} Adopted `restored`: from a backup;
 *   `cleared`: the session was started over; `turned`: the page showed another session; `settled`: what is kept beside the messages
 *   followed
 */

export class EpochChange {
  /** @param {EpochNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** Texts that were sent under the old epoch, for the caller. @type {SentOperation[]} */
    this.unsent = [];
    /** This page's last version of each message before the clear. @type {Map<string, SentOperation>} */
    this.tails = new Map();
    /** The epoch that could not be read. @type {{session: Session | null, epoch: number} | null} */
    this.told = null;
    this.epoch = 0;
    /** An epoch that was heard of while a request was unanswered. @type {{of: string | undefined, epoch: number} | null} */
    this.heard = null;
    this.reading = false;
    this.toRead = false;
  }

  /** A push reported an epoch; it may be late. @param {number} epoch */
  pushed(epoch) {
    const { session } = this.needs.state;
    const told = this.told?.session === session ? this.told?.epoch : 0;
    if (epoch > Math.max(session?.epoch ?? 0, told ?? 0)) this.found(epoch);
  }

  /** The session is in another epoch than this page. @param {number} epoch */
  found(epoch) {
    if (this._waits) {
      this.heard = { of: this.needs.state.session?.id, epoch };
      return;
    }
    this.handOver(epoch);
    this._take(epoch);
  }

  /** A request was answered. If it came before the clear, though its answer came after it, the answer does not show the clear. */
  answered() {
    const { heard } = this;
    const { session } = this.needs.state;
    if (!heard || this._waits) return;
    this.heard = null;
    if (session && session.id === heard.of && session.epoch < heard.epoch) this.found(heard.epoch);
  }

  get _waits() {
    return this.needs.queue.present.some((entry) => !entry.refused && !entry.late);
  }

  /** The server refused a request that arrived after the clear, and kept its text. @param {Entry} entry @param {number} epoch */
  refused(entry, epoch) {
    this._remember(entry.body.ops ?? []);
    const { state } = this.needs;
    const { session } = state;
    if (entry.late || entry.session !== session?.id) return;
    const isClear = entry.kind === "clear";
    // Somebody else cleared it first. What was said since this page did follows theirs.
    if (isClear) state.inEpoch(Math.min(epoch, (entry.body.epoch ?? 1) + 1));
    if (session.epoch >= epoch && !isClear) return;
    this.handOver(epoch);
    this._take(epoch);
  }

  /** Send unsent changes under the old epoch; the page is notified too. @param {number} epoch */
  handOver(epoch) {
    const { state, queue, store } = this.needs;
    if (state.session && state.session.epoch < epoch) queue.seal();
    // An answer of the server: it is not sent, but an undo restores what was shown of it.
    if (store.tail) this._remember([store.tail]);
    store.grow(null);
    const operations = this._overtaken(epoch).flatMap((entry) => entry.body.ops ?? []);
    this._remember(operations);
    this.unsent.push(...operations);
  }

  /** This page's requests that somebody else's clear overtook, each once. @param {number} epoch the one after that clear */
  _overtaken(epoch) {
    const { queue } = this.needs;
    const late = queue.present.filter(({ body, refused, late }) => (body.epoch ?? epoch) < epoch && !refused && !late);
    for (const entry of late) entry.late = true;
    return late;
  }

  /** The clear was undone: answers that were longer on this page than on the server get their longer text again. */
  undone() {
    const { queue, store, goOn } = this.needs;
    const { tails } = this;
    this.tails = new Map();
    queue.add([...tails.values()].map((tail) => store.grown(tail)).filter((operation) => operation !== null));
    goOn();
  }

  /** @param {SentOperation[]} operations */
  _remember(operations) {
    for (const operation of operations) this.tails.set(operation.id, operation);
  }

  /**
   * Read the session again and notify the page, with the texts that were too late. An answer and a push may both report one
   * clear: then it is read again, but the clear emitted once.
   * @param {number} epoch
   */
  async _take(epoch) {
    this.epoch = Math.max(this.reading ? this.epoch : 0, epoch);
    this.heard = null;
    this.toRead = true;
    if (this.reading) return;
    this.reading = true;
    try {
      await this._read();
    } catch (error) {
      this.reading = false;
      throw error;
    }
  }

  async _read() {
    const { state, reread } = this.needs;
    for (let first = true; this.toRead; first = false) {
      this.toRead = false;
      const { session } = state;
      const adopted = await reread();
      // The error was emitted. Emit the adopted session and the texts now, and not again after a late push.
      if (!adopted) this.told = { session, epoch: this.epoch };
      this._tell(adopted, first);
    }
    this.reading = false;
  }

  /** What was unsent before a clear that a read found, which nobody told of. @returns {boolean} whether there was any */
  tellUnsent() {
    if (this.reading || this.unsent.length === 0) return false;
    this._tell(null, false);
    return true;
  }

  /** @param {Adopted | null} adopted @param {boolean} first of these reads */
  _tell(adopted, first) {
    const { store, emit } = this.needs;
    const { unsent } = this;
    const isNews = first || unsent.length > 0;
    if (!adopted && !isNews) return;
    this.unsent = [];
    const messages = store.tell();
    if (adopted?.cleared || (isNews && !adopted?.restored)) emit("cleared", { by: "other", unsent, messages });
    else emit("changed", { messages, changed: [], removed: [] });
  }
}

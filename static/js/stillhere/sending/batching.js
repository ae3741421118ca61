/** When changes become a request: user messages at once, a streaming answer at intervals, the rest soon. */
import { backoff } from "../server/http.js";
import { RequestTimer } from "./request-timer.js";

/**
 * @import { BatchingNeeds } from "../needs.d.ts"
 * @import { SentOperation } from "../types.d.ts"
 */

const STREAMING_MS = 2000;
const SETTLED_MS = 300;
// How soon changes without a request are stored in this browser.
const TAIL_STORED_MS = 120;
const STORED_MS = 40;

export class Batching {
  /** @param {BatchingNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    this.timer = new RequestTimer(STREAMING_MS, () => this.pump());
    this.streaming = false;
    this.pumping = false;
    this.sealing = false;
    this.closed = false;
    /** How often in a row the server refused a session. */
    this.refusals = 0;
    /** Before this it is not asked for one again. */
    this.askedAgainAt = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.asking = undefined;
  }

  /** The caller's list was accepted. @param {SentOperation[]} operations what changed in it @param {boolean} streaming */
  taken(operations, streaming) {
    const { queue, state } = this.needs;
    this.streaming = streaming;
    if (!queue.unsent) return;
    const urgent = operations.some((operation) => operation.role === "user" || operation.op === "delete");
    if (urgent && state.session) this._sealSoon();
    else queue.keep(streaming ? TAIL_STORED_MS : STORED_MS);
    if (!urgent || !state.session) this.timer.in(urgent ? 0 : streaming ? STREAMING_MS : SETTLED_MS, { keep: streaming });
  }

  /** An answer was asked for: at once. */
  asked() {
    const { queue, state } = this.needs;
    if (state.session) return this._sealSoon();
    queue.keep(STORED_MS);
    return this.timer.in(0, { keep: false });
  }

  /** Make a request of what is due, unless one is in flight. */
  async pump() {
    const { queue, state } = this.needs;
    if (this.pumping || this.closed || queue.present.length > 0 || !queue.unsent) return;
    if (!state.session && this._waits()) return;
    this.pumping = true;
    try {
      if (!state.session) await this._open();
      if (state.session && queue.present.every((entry) => entry.kind === "create")) await queue.seal();
    } finally {
      this.pumping = false;
    }
  }

  /** After an answer: send what waited for it, unless it is not due yet. */
  goOn() {
    const { queue } = this.needs;
    if (!queue.unsent) return;
    queue.keep(STORED_MS);
    if (this.timer.pending) return;
    const own = queue.asks.length > 0 || [...queue.operations.values()].some((operation) => operation.role === "user");
    this.timer.in(this.streaming && !own ? STREAMING_MS : 0, { keep: true });
  }

  /** What was refused is asked again at once. */
  retry() {
    this.refusals = 0;
    this.askedAgainAt = 0;
    this.goOn();
  }

  close() {
    this.closed = true;
    clearTimeout(this.asking);
    this.timer.close();
  }

  /** A refused key stays refused for a while: the server is not asked at each part of an answer. */
  async _open() {
    const { state, findOrCreate } = this.needs;
    await findOrCreate();
    this.refusals = state.session ? 0 : this.refusals + 1;
    this.askedAgainAt = state.session ? 0 : performance.now() + backoff(this.refusals);
  }

  /** Was a session refused a moment ago? Then what is due now is done after the pause. */
  _waits() {
    const left = this.askedAgainAt - performance.now();
    if (left <= 0) return false;
    this.asking ??= setTimeout(() => {
      this.asking = undefined;
      this.pump();
    }, left);
    return true;
  }

  /** In a microtask, so that several saves in one task become one request. */
  _sealSoon() {
    if (this.sealing) return;
    this.sealing = true;
    queueMicrotask(() => {
      this.sealing = false;
      if (!this.closed && this.needs.state.session) this.needs.queue.seal();
    });
  }
}

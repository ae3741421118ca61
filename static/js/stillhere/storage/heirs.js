/** Who takes over what the other pages of this browser leave. A page holds a lock while it lives. */
import { inTurn } from "../web-locks.js";

export class Heirs {
  constructor() {
    /** @type {Map<string, Promise<void>>} */
    this.waiting = new Map();
    this.ended = new AbortController();
  }

  /**
   * Do this when the writer's page has ended; that may be now or much later. Resolves then, also if it failed.
   * @param {string} writer @param {() => Promise<unknown>} work
   */
  inherit(writer, work) {
    const begun = this.waiting.get(writer);
    if (begun) return begun;
    const taken = inTurn(`stillhere:writer:${writer}`, work, this.ended.signal).then(() => {});
    const heir = taken.catch(() => {}).finally(() => this.waiting.delete(writer));
    this.waiting.set(writer, heir);
    return heir;
  }

  close() {
    this.ended.abort();
  }
}

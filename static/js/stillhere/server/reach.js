/** Whether the server answered last: what waits for an answer does not wait for a server that is away. */

/** @import { Met } from "../types.d.ts" */

export class Reach {
  /** @param {Met} met is told of every attempt */
  constructor(met) {
    this.away = false;
    /** @type {Set<() => void>} */
    this.waiting = new Set();
    /** @type {Met} */
    this.met = (error) => {
      this.away = error?.passing === true;
      if (this.away) for (const go of this.waiting) go();
      met(error);
    };
  }

  /** Resolves with the promise, or once the server is away. @param {Promise<unknown>} promise @returns {Promise<void>} */
  async orAway(promise) {
    if (this.away) return;
    let go = () => {};
    /** @type {Promise<void>} */
    const away = new Promise((resolve) => {
      go = resolve;
    });
    this.waiting.add(go);
    await Promise.race([promise, away]);
    this.waiting.delete(go);
  }
}

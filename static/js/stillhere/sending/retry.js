/** Requests outside the queue that are retried until they are answered or refused. */
import { ApiError, backoff } from "../server/http.js";

/** @import { Met } from "../types.d.ts" */

export class Retry {
  /** @param {Met} met is told of every attempt */
  constructor(met) {
    this.met = met;
    this.closed = false;
  }

  /**
   * Resolves with the answer; with null if it was refused or is no longer needed.
   * @template T @param {() => Promise<T>} ask
   * @param {{refused: (error: ApiError) => void, wanted?: () => boolean, failures?: number}} options `failures`: how many there
   *   are if this attempt fails
   */
  async untilAnswered(ask, { refused, wanted = () => true, failures = 1 }) {
    for (let failed = failures; wanted() && !this.closed; failed += 1) {
      try {
        const answer = await ask();
        this.met(null);
        return answer;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.met(error);
        if (!error.passing) {
          refused(error);
          return null;
        }
        await this.pause(failed, error.retryAfter);
      }
    }
    return null;
  }

  /** The pause after so many failures, or until the network is back. @param {number} failures @returns {Promise<void>} */
  pause(failures, retryAfter = 0) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        globalThis.removeEventListener?.("online", done);
        resolve();
      };
      const timer = setTimeout(done, backoff(failures, retryAfter));
      globalThis.addEventListener?.("online", done);
    });
  }

  close() {
    this.closed = true;
  }
}

/** Transcripts that wait because the server fails at their next batch, though it answers other requests. */
import { ApiError, backoff } from "#module/server/http.js";

// The server, or one behind a proxy, failed at it.
const FAILURES = new Set([500, 502, 504]);
// A fault that passes at once is no news.
const TO_TELL = 3;

/** @param {unknown} error @returns {error is ApiError} */
export const isFailure = (error) => error instanceof ApiError && FAILURES.has(error.status);

export class Held {
  constructor() {
    /** Why, by the session's external id. @type {Map<string, unknown>} */
    this.names = new Map();
    /** How often in a row. @type {Map<string, number>} */
    this.failures = new Map();
    /** How often all of them were tried again, and when they will be. */
    this.rounds = 0;
    this.triedAgainAt = Number.NEGATIVE_INFINITY;
    /** Somebody waits: they are tried again at once. */
    this.asked = false;
  }

  get error() {
    return [...this.names.values()][0];
  }

  /** A round begins. @returns whether they are tried again in it */
  begin() {
    const triesAgain = this.asked || performance.now() >= this.triedAgainAt;
    this.asked = false;
    if (triesAgain) this.names.clear();
    return triesAgain;
  }

  /** A round is over in which they were tried again. */
  end() {
    this.rounds = this.names.size > 0 ? this.rounds + 1 : 0;
    // The pause between two rounds is not shorter than a half of the longest.
    this.triedAgainAt = performance.now() + backoff(this.rounds - 1) / 2;
  }

  /** @param {string} name @param {unknown} error @returns whether to tell of it */
  add(name, error) {
    const count = (this.failures.get(name) ?? 0) + 1;
    this.failures.set(name, count);
    this.names.set(name, error);
    return count === TO_TELL;
  }

  /** Its next batch is stored. @param {string} name */
  passed(name) {
    this.failures.delete(name);
  }

  /** Does the server fail at it again and again? @param {string} name */
  isStuck(name) {
    return this.names.has(name) && (this.failures.get(name) ?? 0) >= TO_TELL;
  }
}

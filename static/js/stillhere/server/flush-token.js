/** A beacon carries this token instead of a key: it lets a closing page save to its session. */

/** @import { Http } from "./http.js" */

const VALID_MS = 20 * 3600 * 1000;

export class FlushToken {
  /** @param {Http} http @param {(...words: unknown[]) => void} log */
  constructor(http, log) {
    this.http = http;
    this.log = log;
    this.renewedAt = 0;
    /** It is for this one. */
    this.session = "";
    /** @type {string | undefined} */
    this.value = undefined;
  }

  /** Pages with the login cookie need none. @param {string} session */
  async renew(session) {
    const isValid = this.session === session && this.renewedAt > Date.now() - VALID_MS;
    if (!this.http.auth.key || isValid) return;
    this.renewedAt = Date.now();
    this.session = session;
    try {
      /** @type {{body: {flush_token: string}}} */
      const { body } = await this.http.request("POST", `/sessions/${session}/flush-tokens`, {});
      this.value = body.flush_token;
    } catch (error) {
      this.renewedAt = 0;
      this.log("no flush token", error);
    }
  }

  /** The next session needs its own. */
  expire() {
    this.renewedAt = 0;
  }
}

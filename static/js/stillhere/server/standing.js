/** How the connection stands with the server, and what people are told of it. */
import { ApiError, statusAfter } from "./http.js";

/**
 * @import { ConnectionStatus } from "../../stillhere.js"
 * @import { Emitter } from "../util.js"
 */

export class Standing {
  /** @param {Emitter} events @param {boolean} byKey by a key, not by a login */
  constructor(events, byKey) {
    this.events = events;
    this.byKey = byKey;
    /** @type {ConnectionStatus} */
    this.status = "connecting";
    /** The code of the error that caused it. @type {string | undefined} */
    this.why = undefined;
  }

  /** Emits the status when it changes. @param {ApiError | null} error */
  met(error) {
    const former = this.status;
    this.status = statusAfter(error);
    const code = this.status === "online" ? undefined : error?.code;
    if (former === this.status && this.why === code) return;
    this.why = code;
    // The server's own words are for those who make the page.
    if (this.status === "denied") console.error("[Stillhere]", error?.message);
    const told = error && new ApiError(error.status, this.inWords(error.refusal), error.retryAfter);
    this.events.emit("status", { status: this.status, ...(code ? { error: told } : {}) });
    if (this.status === "offline" && former !== "offline") this.events.emit("offline", { error: told });
    else if (this.status === "online" && former !== "connecting") this.events.emit("online", {});
  }

  /**
   * Pages show this to people, who send no headers. @template {{status: number, code: string, message: string, state?: object}} Refused
   * @param {Refused} refused @returns {Refused} `state`: of an agent, which is not kept
   */
  inWords(refused) {
    if (refused.status !== 401) return refused;
    const cause = this.byKey ? "The key is refused." : "You are signed out.";
    return { ...refused, message: refused.state ? cause : `${cause} What you wrote is kept in this browser.` };
  }
}

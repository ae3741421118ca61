/**
 * Does the server respond, and is the same user still signed in? There are no requests while everything works. After a request
 * without a response, or one that was refused, it asks until that is over, and reads the CSRF token of a new login.
 */

import { askStanding } from "../forms/sign-in-state.js";

const SOONEST_MS = 1000;
const LATEST_MS = 10_000;
// A refusal so soon after a successful check has another reason.
const FRESH_MS = 3000;

/** @import { Standing } from "../forms/sign-in-state.js" */

export class SignInCheck {
  /** @param {string} user @param {(standing: Standing, csrf?: string) => void} changed */
  constructor(user, changed) {
    this.user = user;
    this.changed = changed;
    /** @type {Standing} */
    this.standing = "here";
    this.watching = false;
    this.looking = false;
    this.wait = SOONEST_MS;
    this.timer = 0;
    /** Time of the last successful check. */
    this.since = -Infinity;
    const look = () => this.watching && !document.hidden && this._look();
    for (const type of ["online", "focus"]) addEventListener(type, look);
    document.addEventListener("visibilitychange", look);
  }

  /** A request got no response. */
  unanswered() {
    this._watch();
  }

  /** A request was refused as if nobody were signed in. False: somebody is, so there is another reason. @param {number} status */
  refused(status) {
    const isFresh = !this.watching && Date.now() - this.since < FRESH_MS;
    if (isFresh && status !== 401) return false;
    // Somebody may have signed out since.
    setTimeout(() => this._watch(), isFresh ? FRESH_MS : 0);
    return true;
  }

  _watch() {
    if (this.watching) return;
    this.watching = true;
    this.wait = SOONEST_MS;
    this._look();
  }

  async _look() {
    if (this.looking) return;
    this.looking = true;
    clearTimeout(this.timer);
    const { standing, csrf } = await askStanding(this.user);
    this.looking = false;
    if (standing === "here") {
      this.watching = false;
      this.since = Date.now();
    } else {
      // A hidden page makes no requests; it checks again when it is visible.
      this.timer = setTimeout(() => document.hidden || this._look(), this.wait);
      this.wait = Math.min(LATEST_MS, this.wait * 2);
    }
    this.standing = standing;
    this.changed(standing, csrf);
  }
}

/** When the next request is due. */
export class RequestTimer {
  /** @param {number} longest milliseconds that changes may put it off @param {() => void} act */
  constructor(longest, act) {
    this.longest = longest;
    this.act = act;
    this.dueAt = 0;
    this.firstAt = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  get pending() {
    return this.timer !== undefined;
  }

  /**
   * In so many milliseconds. `keep`: a set time is kept; otherwise the pause counts from this call, up to a limit.
   * @param {number} wait @param {{keep: boolean}} options
   */
  in(wait, { keep }) {
    const present = performance.now();
    if (this.pending && this.dueAt <= present + wait && (keep || this.dueAt <= present)) return;
    if (!this.pending) this.firstAt = present;
    clearTimeout(this.timer);
    this.dueAt = keep ? present + wait : Math.min(present + wait, this.firstAt + this.longest);
    const act = () => {
      this.timer = undefined;
      this.act();
    };
    this.timer = setTimeout(act, Math.max(0, this.dueAt - present));
  }

  close() {
    clearTimeout(this.timer);
  }
}

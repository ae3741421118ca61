/** The scroll position of the messages: the end while somebody follows them, else what somebody reads stays in its place. */

const NEAR_END = 80;

export class SteadyScroll {
  /** @param {HTMLElement} log its first child is not a message */
  constructor(log) {
    this.log = log;
    this.following = true;
    /** Where the list was scrolled to last. */
    this.at = 0;
    new ResizeObserver(() => this.keep(() => {})).observe(log);
    log.addEventListener("scroll", () => {
      this.following = this._isNearEnd();
      this.at = log.scrollTop;
    });
  }

  toTheEnd() {
    this.following = true;
    this.at = 0;
    this.keep(() => {});
  }

  /** Run it and keep the scroll position: the end if the end was shown, else the first message in view. @param {() => void} act */
  keep(act) {
    const { log } = this;
    // A scroll is told a frame later: until then only its position says that somebody left the end.
    const following = this.following && (log.scrollTop >= this.at - 1 || this._isNearEnd());
    const anchor = following ? null : this._firstInView();
    const top = anchor?.getBoundingClientRect().top ?? 0;
    act();
    if (following) {
      log.scrollTop = log.scrollHeight;
      this.at = log.scrollTop;
    } else if (anchor?.isConnected) log.scrollTop += anchor.getBoundingClientRect().top - top;
  }

  _isNearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.log;
    return scrollHeight - scrollTop - clientHeight < NEAR_END;
  }

  _firstInView() {
    const { children } = this.log;
    const { top } = this.log.getBoundingClientRect();
    let [low, high] = [1, children.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (children[middle].getBoundingClientRect().bottom > top) high = middle;
      else low = middle + 1;
    }
    return children[low] ?? null;
  }
}

/** A visible page follows its project's events. Events that it missed while hidden come first. */

/** @typedef {{type: string, event_seq?: number, session?: string, rev?: number, data?: Record<string, unknown>}} PageEvent */

const LONGEST_WAIT_MS = 30_000;
// The server says something every 25 s.
const SILENCE_MS = 70_000;

/**
 * Runs something only while the page is visible.
 * @param {() => unknown} act
 * @returns {() => void} asks for `act`: it is done now, or once for however often it was asked, when the page is seen again
 */
export function whenSeen(act) {
  let due = false;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !due) return;
    due = false;
    act();
  });
  return () => {
    due = document.hidden;
    if (!due) act();
  };
}

const LEAVING_MS = 10_000;
let left = -Infinity;
addEventListener("beforeunload", () => {
  left = performance.now();
});

/**
 * Reloads the page, unless the person is going to another one: its answer, with a message to undo what was done, must not
 * be lost. A page that is still here after a while (what was asked for was a download) is reloaded then.
 */
export function reload() {
  const wait = left + LEAVING_MS - performance.now();
  if (wait > 0) setTimeout(reload, wait);
  else location.reload();
}

/**
 * @typedef {object} Follower
 * @property {string} project
 * @property {number} since the newest event that the page shows
 * @property {(words: string) => void} say
 * @property {(event: PageEvent) => unknown} heard
 * @property {() => unknown} [opened] the socket was opened, or reopened
 */

class EventStream {
  /** @param {Follower} page */
  constructor(page) {
    this.page = page;
    this.seen = page.since;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.waited = 0;
    this.timer = 0;
    this.silence = 0;
  }

  connect() {
    clearTimeout(this.timer);
    if (this.socket || document.hidden) return;
    const { project, say, opened } = this.page;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    // In the address: a message arrives behind newer events, where the network is slow.
    const asked = new URLSearchParams({ project, since: `${this.seen}` });
    const own = new WebSocket(`${scheme}://${location.host}/ws/events/?${asked}`);
    this.socket = own;
    this._heard(own);
    own.addEventListener("open", () => {
      this._heard(own);
      say("Live");
      opened?.();
    });
    own.addEventListener("message", (message) => {
      if (this.socket !== own) return;
      this._heard(own);
      this._take(JSON.parse(message.data));
    });
    own.addEventListener("close", () => this._closed(own));
  }

  /** A hidden tab has no socket; missed events are read when it is visible. */
  rest() {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    const own = this.socket;
    this.socket = null;
    own?.close();
  }

  /** @param {PageEvent} event */
  _take(event) {
    this.waited = 0;
    this.page.say("Live");
    if (event.event_seq) this.seen = Math.max(this.seen, event.event_seq);
    this.page.heard(event);
  }

  /** A connection may be dead, and the browser reports it as open. @param {WebSocket} own */
  _heard(own) {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this._closed(own);
      own.close();
    }, SILENCE_MS);
  }

  /** @param {WebSocket} own */
  _closed(own) {
    if (this.socket !== own) return;
    this.socket = null;
    clearTimeout(this.silence);
    if (document.hidden) return;
    this.waited = Math.min(LONGEST_WAIT_MS, (this.waited || 500) * 2);
    this.page.say("Disconnected. Trying again…");
    this.timer = setTimeout(() => this.connect(), this.waited * (0.5 + Math.random() / 2));
  }
}

/** @param {Follower} page */
export function followEvents(page) {
  const stream = new EventStream(page);
  document.addEventListener("visibilitychange", () => (document.hidden ? stream.rest() : stream.connect()));
  addEventListener("online", () => {
    // What was open before may be dead.
    stream.rest();
    stream.connect();
  });
  addEventListener("pagehide", () => stream.rest());
  addEventListener("pageshow", () => stream.connect());
  stream.connect();
}

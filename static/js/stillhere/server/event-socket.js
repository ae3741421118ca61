/** The project's events: the sending tab also listens, and notifies the others. */
import { backoff } from "./http.js";

/**
 * @import { SocketNeeds } from "../needs.d.ts"
 * @import { SessionFrame } from "../types.d.ts"
 */

const SILENCE_MS = 70_000;

export class EventSocket {
  /** @param {SocketNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    this.leading = false;
    this.wanted = false;
    this.opening = false;
    this.closed = false;
    this.failures = 0;
    /** The newest known event. @type {number | null} */
    this.since = null;
    /** @type {WebSocket | undefined} */
    this.socket = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.silence = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.retrying = undefined;
    this.wake = () => this._wake();
    globalThis.addEventListener?.("online", this.wake);
  }

  lead() {
    this.leading = true;
    this._open();
  }

  /**
   * There is a project to listen to, and its events are known up to this number. @param {number} [cursor] of what was read; left out: there
   * was nothing to read
   */
  follow(cursor) {
    const { since } = this;
    const isOld = since !== null && (cursor === undefined ? !this.wanted : cursor < since);
    if (cursor !== undefined) this.since = Math.max(since ?? 0, cursor);
    this.wanted = true;
    this._open();
    if (isOld) this._overtaken();
  }

  /** The tab that listens for all hears what follows this event; another tab may know less. @param {number} since */
  passed(since) {
    if (since <= (this.since ?? 0)) return;
    this.since = since;
    // Otherwise the tab has not read the session yet.
    if (this.wanted) this._overtaken();
  }

  /** @param {SessionFrame} frame */
  take(frame) {
    if (typeof frame.event_seq === "number") this.since = Math.max(this.since ?? 0, frame.event_seq);
    this.needs.taken(frame);
  }

  close() {
    this.closed = true;
    globalThis.removeEventListener?.("online", this.wake);
    this._leave();
  }

  async _open() {
    const { http, project } = this.needs;
    if (!this.leading || !this.wanted || this.socket || this.opening || this.closed) return;
    this.opening = true;
    try {
      const ticket = http.auth.key ? await this._ticket() : "";
      if (this.closed) return;
      // In the address: what the page asks for later arrives behind newer events, where the network is slow.
      const { since } = this;
      this._listen(new WebSocket(http.socketUrl(project, ticket, since)), since);
    } catch {
      this._later();
    } finally {
      this.opening = false;
    }
  }

  async _ticket() {
    /** @type {{body: {ticket: string, account?: string}}} */
    const { body } = await this.needs.http.request("POST", "/ws-tickets", {});
    // Servers of earlier versions do not say it.
    if (body.account) this.needs.belongs(body.account);
    return body.ticket;
  }

  /** @param {WebSocket} socket @param {number | null} since */
  _listen(socket, since) {
    this.socket = socket;
    this._heard();
    socket.onopen = () => {
      if (since !== null) this.needs.listens(since);
      else if (this.since !== null) this._subscribe(socket, this.since);
      else this._missed();
      this._heard();
    };
    socket.onmessage = (event) => {
      this.failures = 0;
      this._heard();
      /** @type {SessionFrame} */
      const frame = JSON.parse(event.data);
      this.take(frame);
      if (frame.type !== "HEARTBEAT") this.needs.tell(frame);
    };
    socket.onclose = () => {
      this._leave();
      this._later();
    };
  }

  /** A browser tells of the end of a dead connection a minute after it was asked for it. */
  _leave() {
    const { socket } = this;
    clearTimeout(this.silence);
    if (!socket) return;
    this.socket = undefined;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** @param {WebSocket} socket @param {number} since */
  _subscribe(socket, since) {
    socket.send(JSON.stringify({ type: "subscribe", since }));
    this.needs.listens(since);
  }

  /** What the page has read is older than events that it was told of while it showed something else: they are not told again. */
  _overtaken() {
    this.needs.taken(this._resync);
  }

  /** In the other tabs too. */
  _missed() {
    this.needs.missed();
    this.needs.tell(this._resync);
  }

  /** As the server says that it cannot tell what was missed. */
  get _resync() {
    const frame = /** @type {unknown} */ ({ type: "RESYNC", project: this.needs.project });
    return /** @type {SessionFrame} */ (frame);
  }

  /** A socket that was silent for so long is dead, even if the browser reports it as open. */
  _heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this._leave();
      this._later();
    }, SILENCE_MS);
  }

  /** The network is back: without further pause, and not by a connection from before, which may be dead without a sign of it. */
  _wake() {
    this.failures = 0;
    clearTimeout(this.retrying);
    this._leave();
    this._open();
  }

  _later() {
    if (this.closed) return;
    this.failures += 1;
    clearTimeout(this.retrying);
    this.retrying = setTimeout(() => this._open(), backoff(this.failures));
  }
}

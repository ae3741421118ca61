/** The project's events: the tab that sends also listens, and tells the others. */
import { backoff } from "./http.js";

const SILENCE_MS = 70_000;

export class Live {
  /** @param {import("./link.js").Link} link */
  constructor(link) {
    this.link = link;
    this.leading = false;
    this.failures = 0;
    this.since = null;
  }

  lead() {
    this.leading = true;
    this._open();
  }

  /** There is a project to listen to, and its events are known up to this number. */
  follow(cursor) {
    if (cursor !== undefined) this.since = Math.max(this.since ?? 0, cursor);
    this.wanted = true;
    this._open();
  }

  take(frame) {
    const { link } = this;
    if (typeof frame.event_seq === "number") this.since = Math.max(this.since ?? 0, frame.event_seq);
    link.emit(frame.type, frame);
    const { session } = link;
    if (!session && frame.type === "SESSION_CREATED") link.reader.begun();
    if (frame.type === "RESYNC" && session) this._behind();
    if (!session || frame.session !== session.id || frame.by?.writer_id === link.writer) return;
    if (frame.type === "SESSION_CLEARED") link.startOver.pushed(frame.epoch);
    else if (frame.type === "SESSION_UPDATED" && frame.data?.undone) link.reader.again();
    else if (frame.type === "SESSION_SAVED" || frame.type === "SESSION_UPDATED") {
      if (frame.rev > link.baseRev) this._behind();
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.silence);
    this.socket?.close();
  }

  /** What others changed is read when somebody looks: a hidden page hears of it and asks for nothing. */
  _behind() {
    if (!document.hidden) return void this.link.reader.catchUp();
    if (this.due) return;
    this.due = true;
    const seen = () => {
      this.due = false;
      if (!this.closed) this._behind();
    };
    document.addEventListener("visibilitychange", seen, { once: true });
  }

  async _open() {
    const { link } = this;
    if (!this.leading || !this.wanted || this.socket || this.opening || this.closed) return;
    this.opening = true;
    try {
      const ticket = link.http.auth.key ? (await link.http.request("POST", "/ws-tickets", {})).body.ticket : "";
      if (!this.closed) this._listen(new WebSocket(link.http.socketUrl(link.project, ticket)));
    } catch {
      this._later();
    } finally {
      this.opening = false;
    }
  }

  _listen(socket) {
    this.socket = socket;
    socket.onopen = () => {
      if (this.since !== null) socket.send(JSON.stringify({ type: "subscribe", since: this.since }));
      this._heard();
    };
    socket.onmessage = (event) => {
      this.failures = 0;
      this._heard();
      const frame = JSON.parse(event.data);
      this.take(frame);
      if (frame.type !== "HEARTBEAT") this.link.sender.tell({ kind: "frame", frame });
    };
    socket.onclose = () => {
      this.socket = undefined;
      clearTimeout(this.silence);
      this._later();
    };
  }

  /** A socket that has said nothing for so long is dead, whatever the browser thinks. */
  _heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.socket?.close(), SILENCE_MS);
  }

  _later() {
    if (this.closed) return;
    this.failures += 1;
    clearTimeout(this.retrying);
    this.retrying = setTimeout(() => this._open(), backoff(this.failures));
  }
}

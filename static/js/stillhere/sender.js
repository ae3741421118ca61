/**
 * One tab sends for all tabs of a project: whoever holds the lock. The others put their requests into the shared queue
 * and hear the answers. Should the sending tab sleep, another sends its own requests itself: a request that arrives
 * twice is applied once, so that costs nothing but a request.
 */
import { ApiError, backoff } from "./http.js";
import { hold } from "./locks.js";
import { sleep, within } from "./tools.js";

const PATIENCE_MS = 4000;
const SIGNED_OUT = new Set([401, 403, 423]);
// Refusals that lose nothing: what was asked for is so already, or can never be. They hold nothing up.
const ANSWERED = new Set(["stale_epoch", "session_exists", "nothing_to_restore", "purged"]);

export class Sender {
  /**
   * @param {{scope: string, http: import("./http.js").Http, storage: import("./storage.js").Storage,
   *          answered: Function, refused: Function, frame: Function, met: (error: ApiError | null) => void, leads: Function}} options
   */
  constructor(options) {
    Object.assign(this, options);
    this.leading = false;
    this.closed = false;
    this.failures = 0;
    this.refusedLanes = new Map();
    this.channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(`stillhere:${this.scope}`) : null;
    if (this.channel) this.channel.onmessage = (event) => this._hear(event.data);
    this.wake = () => this._retryNow();
    globalThis.addEventListener?.("online", this.wake);
    this.lock = hold(`stillhere:sender:${this.scope}`);
    this.lock.held.then(() => {
      if (this.closed) return;
      this.leading = true;
      this.leads();
    });
  }

  /** There is something to send. */
  poke() {
    if (this.closed) return;
    if (this.leading) this._run();
    else this.channel?.postMessage({ kind: "queued" });
  }

  /** As `poke`, for a request of this tab: if nobody answers it, this tab sends it. */
  expect(entry) {
    this.poke();
    if (this.leading) return;
    setTimeout(() => {
      if (!entry.done && !this.closed) this._send(entry);
    }, PATIENCE_MS);
  }

  /** Wait until the queue is empty or stuck, at most this long. */
  async drain(milliseconds) {
    const until = Date.now() + milliseconds;
    const led = await within(this.lock.held.then(() => true), Math.min(300, milliseconds), false);
    this.poke();
    while (Date.now() < until) {
      if ((await this._sendable()).length === 0) return true;
      if (led && this.failures > 0) return false;
      await sleep(25);
    }
    return false;
  }

  /** What an earlier page was refused: whoever signed in again may go on; the rest is handed to the caller. */
  async reconsider() {
    for (const entry of await this.storage.all()) {
      if (!entry.refused) continue;
      if (SIGNED_OUT.has(entry.refused.status)) {
        delete entry.refused;
        await this.storage.put(entry);
      } else this.refused(entry);
    }
  }

  /** Requests that were refused go again. */
  async retry() {
    this.refusedLanes.clear();
    for (const entry of await this.storage.all()) {
      if (entry.refused) {
        delete entry.refused;
        await this.storage.put(entry);
      }
    }
    this.poke();
    this._retryNow();
  }

  /** What was refused is given up; its words were handed to the caller. */
  async discard() {
    for (const entry of await this.storage.all()) if (entry.refused) await this.storage.remove(entry);
    this.refusedLanes.clear();
    this.poke();
  }

  tell(message) {
    this.channel?.postMessage(message);
  }

  close() {
    this.closed = true;
    globalThis.removeEventListener?.("online", this.wake);
    this.lock.release();
    this.channel?.close();
    this._retryNow();
  }

  async _sendable() {
    const all = await this.storage.all();
    const stuck = new Set(all.filter((entry) => entry.refused).map(laneOf));
    return all.filter((entry) => !stuck.has(laneOf(entry)) && !this.refusedLanes.has(laneOf(entry)));
  }

  async _run() {
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    try {
      do {
        this.again = false;
        for (let [entry] = await this._sendable(); entry && !this.closed; [entry] = await this._sendable()) {
          await this._send(entry);
        }
      } while (this.again && !this.closed);
    } finally {
      this.running = false;
    }
  }

  /** Until it is answered or refused. */
  async _send(entry) {
    while (!this.closed) {
      try {
        const { status, body } = await this._attempt(entry);
        this._met(null);
        await this._finish(entry, status, body);
        return;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this._met(error);
        if (!error.passing) {
          await this._refuse(entry, error);
          return;
        }
        await this._pause(backoff(this.failures, error.retryAfter));
      }
    }
  }

  async _attempt(entry) {
    try {
      return await this.http.request(entry.method, entry.path, entry.body, entry.headers);
    } catch (error) {
      if (error instanceof ApiError && ANSWERED.has(error.code)) return { status: error.status, body: { error } };
      throw error;
    }
  }

  async _finish(entry, status, body) {
    entry.done = true;
    await this.storage.remove(entry);
    const plain = body?.error ? { error: { code: body.error.code, details: body.error.details } } : body;
    const dropped = plain?.error?.code === "stale_epoch" ? await this._dropRest(entry) : [];
    this.answered(entry, status, plain, dropped);
    this.tell({ kind: "answer", entry, status, body: plain, dropped });
  }

  /** What the same writer meant for the ended epoch is not sent again; its words go back to the caller. */
  async _dropRest(entry) {
    const all = await this.storage.all();
    const rest = all.filter((one) => laneOf(one) === laneOf(entry) && one.body.epoch === entry.body.epoch);
    for (const one of rest) await this.storage.remove(one);
    return rest;
  }

  async _refuse(entry, error) {
    this.refusedLanes.set(laneOf(entry), error.status);
    entry.refused = { status: error.status, code: error.code, message: error.message, details: error.details };
    await this.storage.put(entry);
    this.refused(entry);
    this.tell({ kind: "refused", entry });
  }

  /** What came of an attempt, for this tab and for those that it sends for. */
  _met(error) {
    this.failures = error?.passing ? this.failures + 1 : 0;
    this.met(error);
    if (this.said === error?.code) return;
    this.said = error?.code;
    this.tell({ kind: "met", error: error && { status: error.status, code: error.code, message: error.message } });
  }

  _pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.interrupt = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  _retryNow() {
    this.interrupt?.();
  }

  _hear(message) {
    if (message.kind === "queued" && this.leading) this._run();
    else if (message.kind === "answer") this.answered(message.entry, message.status, message.body, message.dropped);
    else if (message.kind === "refused") this.refused(message.entry);
    else if (message.kind === "met") this.met(message.error && new ApiError(message.error.status, message.error));
    else if (message.kind === "frame") this.frame(message.frame);
  }
}

/** What has to go in order: the requests of one writer to one session. */
const laneOf = (entry) => `${entry.session}/${entry.writer}`;

/**
 * The tab that holds the lock sends for all tabs of a project. The others put their requests into the shared queue
 * and receive the answers. If the sending tab sleeps, another tab sends its own requests itself: a request that arrives
 * twice is applied once, so this only costs one more request.
 */
import { ApiError, backoff } from "../server/http.js";
import { sleep, within } from "../util.js";
import { hold, supported } from "../web-locks.js";
import { laneOf } from "./requests.js";

/**
 * @import { Session } from "../../stillhere.js"
 * @import { SenderNeeds } from "../needs.d.ts"
 * @import { AnswerBody, Broadcast, Entry, Joined, Refusal } from "../types.d.ts"
 */

const PATIENCE_MS = 4000;
const SIGNED_OUT = new Set([401, 403, 423]);
// Refusals that lose nothing: the requested state exists already, or is impossible. They block nothing.
const ANSWERED = new Set(["stale_epoch", "session_exists", "external_id_taken", "nothing_to_restore", "purged"]);

export class Sender {
  /** @param {SenderNeeds} needs */
  constructor(needs) {
    const { scope } = needs;
    this.needs = needs;
    this.leading = false;
    this.closed = false;
    this.running = false;
    this.again = false;
    this.alone = false;
    this.failures = 0;
    /** The error code last sent to other tabs. @type {string | undefined} */
    this.said = undefined;
    /** Ends the present pause. */
    this.interrupt = () => {};
    /** @type {Set<string>} */
    this.refusedLanes = new Set();
    /** What this tab has sent and is not answered, by key. @type {Map<string, Promise<void>>} */
    this.sending = new Map();
    /** By the session that was never made. @type {Map<string, Joined>} */
    this.joined = new Map();
    this.channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(`stillhere:${scope}`) : null;
    if (this.channel) this.channel.onmessage = (event) => this._hear(event.data);
    this.wake = () => {
      this.failures = 0;
      this.interrupt();
    };
    globalThis.addEventListener?.("online", this.wake);
    this.lock = hold(`stillhere:sender:${scope}`);
    this.lock.held.then(() => this._lead());
  }

  /** There is something to send. */
  poke() {
    if (this.closed) return;
    if (this.leading) this._run();
    else this.channel?.postMessage({ kind: "queued" });
  }

  /** Like `poke`, for a request of this tab: if no tab handles it, this tab sends it, in order. @param {Entry} entry */
  expect(entry) {
    this.poke();
    if (!this.leading) setTimeout(() => this._insist(entry), PATIENCE_MS);
  }

  /** @param {Entry} entry */
  async _insist(entry) {
    if (entry.done || entry.refused || this.closed) return;
    // A tab that sent it and ended could not tell the answer, which the server repeats.
    if (!(await this.needs.outbox.has(entry)) && !entry.done) await this.needs.outbox.put([entry]);
    if (this.leading) this._run();
    else this._sendOwn(entry.writer);
  }

  /** Wait until the queue is empty or stuck, at most this long. @param {number} milliseconds */
  async drain(milliseconds) {
    const until = performance.now() + milliseconds;
    const led = await within(
      this.lock.held.then(() => true),
      Math.min(300, milliseconds),
      false,
    );
    this.poke();
    while (performance.now() < until) {
      if ((await this._sendable()).length === 0) return true;
      if (led && this.failures > 0) return false;
      await sleep(25);
    }
    return false;
  }

  /** Refused requests of an earlier page: retried after a new sign-in, otherwise passed to the caller. */
  async reconsider() {
    const { outbox, refused } = this.needs;
    for (const entry of await outbox.all()) {
      if (!isRefused(entry)) continue;
      if (SIGNED_OUT.has(entry.refused.status)) await outbox.put([unrefused(entry)]);
      else refused(entry);
    }
  }

  /** Send refused requests again. */
  async retry() {
    this.refusedLanes.clear();
    const { outbox } = this.needs;
    for (const entry of (await outbox.all()).filter(isRefused)) await outbox.put([unrefused(entry)]);
    this.poke();
    this.interrupt();
  }

  /** Discard refused requests; their texts were passed to the caller. */
  async discard() {
    const { outbox } = this.needs;
    for (const entry of (await outbox.all()).filter(isRefused)) await outbox.remove(entry);
    this.refusedLanes.clear();
    this.poke();
  }

  /** For the other tabs. @param {Broadcast} message */
  tell(message) {
    this.channel?.postMessage(message);
  }

  close() {
    this.closed = true;
    globalThis.removeEventListener?.("online", this.wake);
    this.lock.release();
    this.channel?.close();
    this.interrupt();
  }

  /** Requests of ended pages are sent before those of this page. */
  async _lead() {
    if (this.closed) return;
    await this.needs.leads();
    this.leading = true;
    this.poke();
  }

  async _sendable() {
    const all = (await this.needs.outbox.all()).filter((entry) => !entry.draft);
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

  /** @param {string} writer */
  async _sendOwn(writer) {
    if (this.alone) return;
    this.alone = true;
    const next = async () => (await this._sendable()).find((entry) => entry.writer === writer);
    for (let entry = await next(); entry && !this.closed && !this.leading; entry = await next()) await this._send(entry);
    this.alone = false;
  }

  /**
   * Until it is answered or refused. A tab that comes to lead while its own requests are under way finds them here.
   * @param {Entry} entry
   */
  _send(entry) {
    const sending = this.sending.get(entry.key) ?? this._sendAlone(entry).finally(() => this.sending.delete(entry.key));
    this.sending.set(entry.key, sending);
    return sending;
  }

  /** @param {Entry} entry */
  async _sendAlone(entry) {
    const joined = this.joined.get(entry.session);
    // A tab that had not heard of it yet made this request.
    if (joined) return this.needs.outbox.join(joined);
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

  /** @param {Entry} entry @returns {Promise<{status: number, body: AnswerBody | null}>} */
  async _attempt(entry) {
    try {
      return await this.needs.http.request(entry.method, entry.path, entry.body, entry.headers);
    } catch (error) {
      if (error instanceof ApiError && error.code === "external_id_taken") await this._join(entry, error);
      if (error instanceof ApiError && (ANSWERED.has(error.code) || isUnasked(entry, error)))
        return { status: error.status, body: { error: { code: error.code, message: error.message, details: error.details } } };
      throw error;
    }
  }

  /**
   * Another device made the chat's session meanwhile: what was said here goes there. First in the pages, which then store nothing more
   * for the other one. @param {Entry} entry @param {ApiError} error
   */
  async _join(entry, { details }) {
    const { body } = await this.needs.http.request("GET", `/sessions/${details.session}?messages=0`);
    const joined = { from: entry.session, session: /** @type {{session: Session}} */ (body).session };
    this._hearJoined(joined);
    this.tell({ kind: "joined", joined });
    await this.needs.outbox.join(joined);
  }

  /** @param {Extract<Broadcast, {kind: "answer"}>} message */
  _hearAnswer({ entry, status, body }) {
    // This tab stored its requests again when it heard of the other session: perhaps after this one was sent.
    if (this.joined.size > 0) this.needs.outbox.remove(entry);
    this.needs.answered(entry, status, body);
  }

  /** @param {Joined} joined */
  _hearJoined(joined) {
    this.joined.set(joined.from, joined);
    this.needs.joined(joined);
  }

  /** @param {Entry} entry @param {number} status @param {AnswerBody | null} body */
  async _finish(entry, status, body) {
    await this.needs.outbox.remove(entry);
    this.needs.answered(entry, status, body);
    this.tell({ kind: "answer", entry, status, body });
  }

  /** @param {Entry} former @param {ApiError} error */
  async _refuse(former, error) {
    this.refusedLanes.add(laneOf(former));
    const entry = { ...former, refused: error.refusal };
    await this.needs.outbox.put([entry]);
    this.needs.refused(entry);
    this.tell({ kind: "refused", entry });
  }

  /** Reports the result of an attempt to this tab and to those that it sends for. @param {ApiError | null} error */
  _met(error) {
    this.failures = error?.passing ? this.failures + 1 : 0;
    this.needs.met(error);
    if (this.said === error?.code) return;
    this.said = error?.code;
    this.tell({ kind: "met", error: error?.refusal ?? null });
  }

  /** @param {number} milliseconds @returns {Promise<void>} */
  _pause(milliseconds) {
    return new Promise((resolve) => {
      this.interrupt = resolve;
      setTimeout(resolve, milliseconds);
    });
  }

  /** @param {Broadcast} message */
  _hear(message) {
    const { needs } = this;
    if (message.kind === "queued" && this.leading) this._run();
    else if (message.kind === "answer") this._hearAnswer(message);
    else if (message.kind === "joined") this._hearJoined(message.joined);
    else if (message.kind === "refused" && isRefused(message.entry)) needs.refused(message.entry);
    else if (message.kind === "met") needs.met(message.error && new ApiError(message.error.status, message.error));
    else if (message.kind === "frame") needs.frame(message.frame);
    else if (message.kind === "listens") needs.listens(message.since);
    // The draft is sent when its page has ended.
    else if (message.kind === "draft" && this.leading && supported()) needs.outbox.inherit(message.writer);
  }
}

/** A refused request for an answer: the messages behind it do not wait. @param {Entry} entry @param {ApiError} error */
const isUnasked = ({ kind }, { status, code }) =>
  kind === "ask" && (status === 409 || status === 422 || code === "too_many_streams");

/** @param {Entry} entry @returns {entry is Entry & {refused: Refusal}} */
const isRefused = (entry) => entry.refused !== undefined;

/** @param {Entry} entry @returns {Entry} */
const unrefused = ({ refused: _, ...entry }) => entry;

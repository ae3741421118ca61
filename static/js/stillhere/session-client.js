/** One project's session as this page writes it. All changes go through the queue. */
import { uploadFile } from "./server/files.js";
import { readHandoff } from "./server/handoff.js";
import { ApiError } from "./server/http.js";
import { checkedText, contentOf } from "./session/message-content.js";
import { SessionParts } from "./session-parts.js";
import { bytesOf, sleep, uuid, within } from "./util.js";
import { hold } from "./web-locks.js";

/**
 * @import { AskOptions, Message, Session, UploadOptions } from "../stillhere.js"
 * @import { PartsNeeds } from "./needs.d.ts"
 * @import { Entry, SentOperation } from "./types.d.ts"
 *
 * @typedef {{client: SessionClient, session: string, epoch: number}} Place
 * @typedef {{of: number, cleared: number}} Cleared
 * @typedef {{of: number, restored: number, renamed: {from: string, to: string}[]}} Undone
 */

const BEACON_BYTES = 59 * 1024;
// A new session does not wait longer for a server that does not answer: what is written goes to it in order.
const BEGUN_MS = 1000;

export class SessionClient {
  /** @param {PartsNeeds} needs */
  constructor(needs) {
    this.parts = new SessionParts(needs);
    this.alive = hold(`stillhere:writer:${this.parts.identity.writer}`);
  }

  get project() {
    return this.parts.identity.project;
  }

  get session() {
    return this.parts.state.session;
  }

  get openingStep() {
    return this.parts.queue.openingStep;
  }

  /** Does or did this session have a message with this id? @param {string} id */
  knows(id) {
    return this.parts.store.knows(id);
  }

  /** Does the page show this message? @param {string} id */
  shows(id) {
    return this.parts.store.messages.has(id);
  }

  /** What the page shows: the next request is about it. @returns {Place} */
  get place() {
    const { state, queue } = this.parts;
    return { client: this, session: state.id, epoch: queue.epoch };
  }

  /**
   * Save a message where the page was before it turned to another session, or before a clear, of which it shows nothing any more.
   * @param {Place} place @param {Message} message
   */
  saveIn({ session, epoch }, { id, status, ...message }) {
    const { state, queue } = this.parts;
    const says = (/** @type {Entry} */ entry) =>
      entry.session === session && entry.body.ops?.some((operation) => operation.id === id);
    // Without the network there is one request for all that comes until the end, not one for each part.
    if (status === "streaming" && queue.waiting.some(says)) return;
    /** @type {SentOperation} */
    const operation = JSON.parse(JSON.stringify({ op: "upsert", id, status, ...contentOf(message) }));
    const entry = queue.step("changes", "changes", { ops: [operation] }, { session, epoch });
    void queue.enqueue({ ...entry, late: session === state.id && epoch < queue.epoch });
  }

  /** The session as this page has it. */
  state() {
    return this.parts.reader.state();
  }

  /**
   * Take the caller's list. User messages and deletions become a request at once; the rest becomes one when it is due.
   * @param {readonly Message[]} messages @param {{streaming?: boolean, openingStep?: string}} [options]
   */
  save(messages, { streaming = false, openingStep } = {}) {
    const { store, queue, batching, mirror } = this.parts;
    const operations = store.take(messages, { streaming });
    const newStep = openingStep === queue.openingStep ? undefined : openingStep;
    if (operations.length > 0 || newStep !== undefined) queue.add(operations, newStep);
    if (queue.unsent) mirror.writeSoon();
    batching.taken(operations, streaming);
  }

  /** Send everything at once, as a closing page does. @returns {boolean} whether it all went out */
  flush() {
    const { mirror, agentStates, drafts } = this.parts;
    agentStates.flush();
    drafts.flush();
    const isSent = this._flush();
    mirror.write();
    return isSent;
  }

  _flush() {
    const { queue, state, http, flushToken } = this.parts;
    const parked = queue.present.some((entry) => entry.kind !== "changes");
    const flying = parked ? [] : queue.present.filter((entry) => !entry.covered && !entry.late && !entry.refused);
    if (!queue.unsent && flying.length === 0) return queue.present.length === 0;
    if (!state.session) {
      queue.keep(0);
      return false;
    }
    const [first, ...more] = queue.handOver(flying, BEACON_BYTES - 1024);
    if (parked || first.kind !== "changes" || bytesOf(JSON.stringify(first.body)) > BEACON_BYTES) return false;
    // What an earlier page said may still wait in this browser: it would arrive later, as a conflict with this.
    if (first.body.ops?.some(({ if_write }) => if_write)) return false;
    return http.beacon(state.session.id, first.body, flushToken.value) && more.length === 0;
  }

  /** Resolves once everything is acknowledged; false if it is not by then. */
  async settled(milliseconds = 10_000) {
    const { queue, agentStates, batching } = this.parts;
    const until = performance.now() + milliseconds;
    while (queue.unsent || queue.present.length > 0 || agentStates.due.length > 0) {
      if (performance.now() > until || queue.present.some((entry) => entry.refused)) return false;
      if (queue.present.length === 0) await within(batching.pump(), Math.max(1, until - performance.now()));
      await sleep(15);
    }
    return true;
  }

  /** Clear the chat: at once in the page; on the server in order, after earlier requests. Resolves when that is done. */
  async clear() {
    const { state, store, queue, mirror, responses, answers, emit } = this.parts;
    answers.leave();
    if (!state.session && !(await this.settled(3000))) return null;
    if (!state.session) return null;
    // Not awaited: what the page says while it is stored is said after the clear.
    queue.seal();
    store.reset([], { tombstones: true });
    const entry = queue.step("clear", "clear", {});
    state.atStep("");
    const answered = /** @type {Promise<Cleared | null>} */ (responses.answerTo(entry));
    queue.enqueue(entry);
    mirror.write();
    emit("cleared", { by: "this", unsent: [], messages: [] });
    return answered;
  }

  /**
   * Undo the last clear, or that of an epoch. Null if it was undone already, or erased: then nothing changed.
   * @param {number} [of]
   */
  async undoClear(of) {
    const { state, queue, responses } = this.parts;
    if (!state.session) return null;
    await queue.seal();
    const entry = queue.step("undo", "undo-clear", of === undefined ? {} : { of });
    const answered = /** @type {Promise<Undone | null>} */ (responses.answerTo(entry));
    queue.enqueue(entry);
    return answered;
  }

  /** Starts another session in the project, which becomes the current one. @param {string} openingStep */
  async newSession(openingStep) {
    const { identity, state, store, queue, reader, flushToken, opening, mirror, answers, reach, emit } = this.parts;
    if (identity.chat !== undefined)
      throw new TypeError("This connection keeps one chat. For a new one, connect with its own id.");
    await reach.orAway(this.settled(BEGUN_MS));
    answers.leave();
    // What was said before there was a session is not said in the new one.
    if (!state.session && queue.unsent) await opening.create(BEGUN_MS);
    // Without waiting for the disk: what is said meanwhile would be said in the new one.
    if (state.session) queue.seal();
    state.beginAnew();
    store.reset([], { tombstones: true });
    reader.forget();
    queue.begin(openingStep);
    flushToken.expire();
    const created = opening.create(BEGUN_MS);
    // Now, because a late list of the former session says nothing in this one.
    emit("changed", { messages: store.tell(), changed: [], removed: [] });
    await created;
    mirror.write();
    return reader.state();
  }

  /** Save a question behind the shown messages and let the server answer it. @param {string} text @param {AskOptions} options */
  ask(text, options) {
    const { state, store, emit } = this.parts;
    const known = store.list();
    /** @type {Message} */
    const question = { id: uuid(), role: "user", text: checkedText(text, "ask") };
    // In a session with branches another tab may show another one meanwhile.
    if (state.session?.head !== undefined) question.parent_id = known.at(-1)?.id ?? null;
    this.save([...known, question]);
    emit("changed", { messages: store.tell(), changed: [question.id], removed: [] });
    this.parts.answers.ask(question.id, options);
    return question.id;
  }

  /**
   * Uploads a file into the session, which is created if there is none yet.
   * @param {Blob} file @param {UploadOptions} options
   */
  async upload(file, options) {
    const { state, opening, http } = this.parts;
    if (!state.session) await opening.findOrCreate();
    if (!state.session) throw new ApiError(0, { code: "no_session", message: "There is no session to upload into." });
    return uploadFile(http, state.session.id, file, options);
  }

  /** Show the path to this message and on to the newest message of its branch. @param {string} id */
  async moveHead(id) {
    const { state, store, http, catchUp } = this.parts;
    await this.settled();
    const { session } = state;
    if (!session) return store.tell();
    const moved = await http.request("PATCH", `/sessions/${session.id}`, { head: id, to_end: true });
    if (state.session?.id === session.id) state.atHead(/** @type {Session} */ (moved.body).head);
    await catchUp.run();
    return store.tell();
  }

  handoff() {
    return readHandoff(this.parts.http, this.session?.project_id, this.project);
  }

  /** Sends refused requests again. */
  retry() {
    this.parts.responses.retry();
    this.parts.queue.retry();
    this.parts.batching.retry();
    return this.parts.sender.retry();
  }

  /** Discards refused requests: the caller has their texts from the `refused` event. */
  discard() {
    this.parts.queue.discard();
    this.parts.batching.goOn();
    return this.parts.sender.discard();
  }

  close() {
    const { queue, agentStates } = this.parts;
    if (queue.unsent || queue.waiting.length > 0 || agentStates.due.length > 0) this.flush();
    this.parts.close();
    this.alive.release();
  }
}

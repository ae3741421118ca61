/**
 * Answers that the server makes. The request for one is in the queue behind its question, so whatever the question survives, it
 * survives too. Pages follow the answer's stream while they are seen: what they show is the stored text or, if it is longer, the
 * stream's.
 */
import { ApiError } from "../server/http.js";
import { sleep, uuid } from "../util.js";
import { readStream } from "./stream-reader.js";

/**
 * @import { Answered, Answering, AskOptions } from "../../stillhere.js"
 * @import { AnswersNeeds } from "../needs.d.ts"
 * @import { AnswerBody, EntryBody, GenerationBody, GenerationFrame } from "../types.d.ts"
 *
 * @typedef {Answering & {generation: string, session: string, stream: string | null, own: boolean, text: string, offset: number}} Made
 *   an answer that is made; `text` is what its chunks before number `offset` say
 */

const TAKEN_MS = 1500;
const STATES = new Set(["complete", "stopped", "interrupted", "failed"]);

export class Answers {
  /** @param {AnswersNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** @type {Made | null} */
    this.present = null;
    /** Those that are not over, though another one was asked for since: by generation. @type {Map<string, Made>} */
    this.behind = new Map();
    /** Streams whose end was reported. @type {Set<string>} */
    this.ended = new Set();
    /** Requests that were stopped before they were acknowledged. @type {Set<string>} */
    this.unwanted = new Set();
    /** @type {AbortController | null} */
    this.reading = null;
    this.closed = false;
    this.seen = () => this._follow();
    document.addEventListener("visibilitychange", this.seen);
  }

  /** @returns {Answering | null} */
  get shown() {
    if (!this.present) return null;
    const { state, question, message } = this.present;
    return { state, question, message };
  }

  /** @param {string} question @param {AskOptions & {again?: boolean}} options */
  ask(question, { again = false, model, instructions }) {
    const { queue, batching, state } = this.needs;
    const beside = again || state.session?.head !== undefined;
    /** @type {EntryBody & {id: string}} */
    const body = { id: uuid(), ...(beside ? { parent_id: question } : { question }) };
    if (model) body.model = model;
    if (instructions) body.instructions = instructions;
    queue.ask(body);
    batching.asked();
    const session = state.id;
    if (this.present?.stream) this.behind.set(this.present.generation, this.present);
    this._set({ state: "waiting", question, message: null, ...fresh(body.id, session), own: true });
  }

  /**
   * A request for an answer was answered, of whichever tab.
   * @param {EntryBody} asked @param {AnswerBody} body @param {boolean} ours this page asked
   */
  async acknowledged(asked, body, ours) {
    const waits = this.present?.state === "waiting" && this.present.generation === asked.id;
    const question = asked.question ?? asked.parent_id ?? null;
    const found = /** @type {GenerationBody} */ (body);
    if (this.unwanted.delete(asked.id ?? "") && found.generation) return this._stop(found.generation, found.session);
    if (body.error?.code === "generation_running") return ours && this._askLater(asked, question);
    if (body.error) return waits && this._refused(question, body.error);
    if (waits && this.ended.has(found.stream ?? "")) return this._wasAnswered(found, question);
    if (!found.ended_at || waits) this._attach(found, { question, own: waits });
    return undefined;
  }

  /** @param {GenerationFrame} frame of the session that is shown */
  heard({ type, session, data }) {
    if (!data || !session) return;
    const { generation, message, stream, state } = data;
    const { present } = this;
    if (type === "GENERATION_ENDED") {
      const known = present?.generation === generation ? present : this.behind.get(generation);
      if (known && known.state !== "waiting") this._over(known, state);
    } else if (type === "GENERATION_STARTED" && stream) {
      if (present?.state === "waiting" && present.generation !== generation) return;
      const own = present?.generation === generation;
      this._attach({ generation, message, stream, session }, { question: own ? (present?.question ?? null) : null, own });
    }
  }

  /** The session was read: an answer that is being made is followed. */
  async look() {
    const { state, store } = this.needs;
    const { session } = state;
    if (this.present && this.present.session !== session?.id) this.leave();
    const last = store.list().at(-1);
    if (!session || this.present) return;
    if (last?.status !== "streaming" || last.role !== "assistant") return void store.grow(null);
    const found = await this.needs.retry.untilAnswered(() => this._found(session.id, last.id), {
      refused: () => {},
      wanted: () => state.session?.id === session.id && !this.present && !this.closed,
    });
    if (this.present) return;
    if (found && !found.ended_at) this._attach(found, { question: null, own: true });
    else store.grow(null);
  }

  stop() {
    const { present } = this;
    if (!present) return false;
    if (present.state !== "waiting") {
      if (present.state === "running") this._stop(present.generation, present.session);
      this._set({ ...present, state: "stopping" });
      return true;
    }
    if (!this.needs.queue.cancel(present.generation)) this.unwanted.add(present.generation);
    this.leave();
    return true;
  }

  /** @param {string} [message] */
  async continueAnswer(message) {
    const { state, store, http } = this.needs;
    const { session } = state;
    const id = message ?? store.list().findLast(({ role, status }) => role === "assistant" && status === "interrupted")?.id;
    if (!session || !id) return false;
    const found = await this._found(session.id, id);
    if (!found) return false;
    /** @type {{body: GenerationBody}} */
    const { body } = await http.request("POST", `/sessions/${session.id}/generations/${found.generation}/continue`, {});
    this._attach(body, { question: null, own: true });
    return true;
  }

  /** The page shows another session, or the chat was cleared. */
  leave() {
    this._halt();
    this.behind.clear();
    this.needs.store.grow(null);
    if (this.present) this._set(null);
  }

  /** The session of what is asked for is another one. @param {string} from @param {string} to */
  join(from, to) {
    if (this.present?.session === from) this.present = { ...this.present, session: to };
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.seen);
    this._halt();
  }

  /** @param {Made | null} made */
  _set(made) {
    this.present = made;
    this.needs.emit("answering", { answering: this.shown });
  }

  _halt() {
    this.reading?.abort();
    this.reading = null;
  }

  /** @param {string} session @param {string} message @returns {Promise<GenerationBody | undefined>} */
  async _found(session, message) {
    /** @type {{items: GenerationBody[]}} */
    const { items } = await this.needs.http.get(`/sessions/${session}/generations?message=${encodeURIComponent(message)}`);
    return items[0];
  }

  /** @param {string} generation @param {string} session */
  _stop(generation, session) {
    const { retry, http } = this.needs;
    const path = `/sessions/${session}/generations/${generation}/stop`;
    retry.untilAnswered(() => http.request("POST", path, {}), { refused: () => {}, wanted: () => !this.closed });
  }

  /** @param {string | null} question @param {{code: string, message?: string}} error */
  _refused(question, { code, message }) {
    this.leave();
    this.needs.emit("answered", { question, message: null, state: "failed", error: message ?? code, own: true });
  }

  /** By an answer whose end was reported. @param {GenerationBody} found @param {string | null} question */
  _wasAnswered({ message, state }, question) {
    this.leave();
    this.needs.emit("answered", { question, message, state: endOf(state), error: null, own: true });
  }

  /** Another answer is made first. @param {EntryBody} asked @param {string | null} question */
  async _askLater(asked, question) {
    const { queue, batching, state } = this.needs;
    const chat = () => `${state.session?.id}/${state.session?.epoch}`;
    const former = chat();
    const { id = "" } = asked;
    const isOver = () => this.closed || chat() !== former || this.unwanted.has(id);
    do await sleep(TAKEN_MS);
    while (!isOver() && this.present && this.present.generation !== id);
    if (isOver()) return void this.unwanted.delete(id);
    queue.ask(asked);
    batching.asked();
    if (!this.present) this._set({ state: "waiting", question, message: null, ...fresh(id, state.id), own: true });
  }

  /** @param {Omit<GenerationBody, "ended_at" | "state">} found @param {{question: string | null, own: boolean}} asked */
  _attach({ generation, message, stream, session }, { question, own }) {
    const { present } = this;
    if (session !== this.needs.state.session?.id || (stream && this.ended.has(stream))) return;
    if (present?.stream && present.stream === stream) return;
    this._halt();
    this._set({ state: "running", question, message, ...fresh(generation, session), stream, own });
    this.needs.catchUp.run();
    this._follow();
  }

  async _follow() {
    const { present: made } = this;
    const { retry } = this.needs;
    if (document.hidden || !made?.stream) return this._halt();
    if (this.reading) return undefined;
    const reading = new AbortController();
    this.reading = reading;
    for (let failures = 1; this.reading === reading; failures += 1) {
      const { offset } = made;
      try {
        await this._read(made, reading.signal);
        return undefined;
      } catch (error) {
        if (this.reading !== reading) return undefined;
        if (!(error instanceof ApiError)) throw error;
        retry.met(error);
        if (!error.passing) return this._over(this._newest(made), null);
        if (made.offset > offset) failures = 1;
        await retry.pause(failures, error.retryAfter);
      }
    }
    return undefined;
  }

  /** Until its end. @param {Made} made @param {AbortSignal} signal */
  async _read(made, signal) {
    const { http, retry } = this.needs;
    for await (const { chunks, end } of readStream(http, made.stream ?? "", made.offset, signal)) {
      if (signal.aborted) return;
      retry.met(null);
      for (const { number, data } of chunks) {
        // What is known already is never added twice.
        if (number !== made.offset) continue;
        made.offset += 1;
        if (typeof data === "string") made.text += data;
      }
      this._grow(made);
      if (end !== null) await this._over(this._newest(made), end === "complete" ? end : null);
    }
  }

  /** The same answer, which may be asked to stop by now. @param {Made} made */
  _newest(made) {
    return this.present?.generation === made.generation ? this.present : made;
  }

  /** @param {Made} made */
  _grow({ message, text }) {
    const { store, mirror, emit } = this.needs;
    if (!message || !store.grow({ id: message, text })) return;
    emit("changed", { messages: store.tell(), changed: [message], removed: [] });
    mirror.writeSoon();
  }

  /** @param {Made} made @param {string | null} state null: not known here */
  async _over(made, state) {
    const { store, catchUp, emit } = this.needs;
    const { generation, session, message, question, own, stream } = made;
    const isKnown = this.present?.generation === generation || this.behind.has(generation);
    if (!isKnown || !stream || this.ended.has(stream)) return;
    this.ended.add(stream);
    this.behind.delete(generation);
    this._halt();
    if (!document.hidden) await catchUp.run();
    const found =
      state === "complete" || document.hidden || !message ? null : await this._found(session, message).catch(() => null);
    const known = endOf(found?.state ?? state);
    // The page shows another session by now, of which this says nothing.
    if (session !== this.needs.state.session?.id) return;
    store.grow(null);
    if (this.present?.stream === stream) this._set(null);
    emit("answered", { question, message, state: known, error: found?.error ?? null, own });
  }
}

/** @param {string | null | undefined} state @returns {Answered["state"]} */
const endOf = (state) => (state && STATES.has(state) ? /** @type {Answered["state"]} */ (state) : "interrupted");

/** @param {string} generation @param {string} session */
const fresh = (generation, session) => ({ generation, session, stream: null, text: "", offset: 0 });

/** What `connect()` returns: one session at a time, of the page's present project. */
import { Http } from "./server/http.js";
import { Memory } from "./server/memory.js";
import { Standing } from "./server/standing.js";
import { checked, checkedText } from "./session/message-content.js";
import { SessionClient } from "./session-client.js";
import { Emitter } from "./util.js";

/**
 * @import { AgentStateFields, AskOptions, AsRun, Connection as Declared, ErrorReport, Events, Message, Models, Options, Refused, UploadOptions }
 *   from "../stillhere.js"
 * @import { Handler } from "./util.js"
 */

const SWITCH_MS = 3000;
const MOST_FORMER = 8;

/** Is it in the queue? @param {unknown} refused */
const isWaiting = (refused) => /** @type {Refused} */ (refused).entry !== undefined;

/** @implements {Declared} */
export class Connection {
  /** @param {Options} options */
  constructor({ baseUrl = "", project, chat, auth = { cookie: true }, client = "default", debug = false }) {
    this._http = new Http(baseUrl, auth);
    this._chat = chat;
    this._client = client;
    this._debug = debug;
    this._events = new Emitter(["refused"]);
    this._standing = new Standing(this._events, auth !== undefined && "key" in auth);
    /** Clients of other projects, which may still have something to send; the newest first. @type {SessionClient[]} */
    this._former = [];
    /** @type {Set<string>} */
    this._warned = new Set();
    this._sessionClient = this._makeSessionClient(project);
    this._memory = new Memory(this._http, project);
    this._hide = () => {
      if (document.visibilityState === "hidden") this.flush();
    };
    this._leave = () => void this.flush();
    globalThis.addEventListener("pagehide", this._leave);
    document.addEventListener("visibilitychange", this._hide);
  }

  get project() {
    return this._sessionClient.project;
  }

  get session() {
    return this._sessionClient.session;
  }

  get openingStep() {
    return this._sessionClient.openingStep;
  }

  /** `connecting` (no response yet), `online`, `offline` (retried automatically) or `denied` (somebody has to act). */
  get status() {
    return this._standing.status;
  }

  /** The project's memory: `get`, `set`, `delete`, `list`. Its calls are not queued: a failed one rejects. */
  get memory() {
    if (this._memory.project !== this.project) this._memory = new Memory(this._http, this.project);
    return this._memory;
  }

  /** Record errors of the frontend: a repeated one is counted. @param {readonly ErrorReport[]} errors @param {AsRun} [options] */
  reportErrors(errors, options) {
    return this.memory.reportErrors(errors, options);
  }

  /** The project's context for a new run, within so many tokens; null if there is no project yet. @param {{budget?: number}} [options] */
  context(options) {
    return this.memory.context(options);
  }

  /** The mirrored session at once, or null; no request is made. */
  peek() {
    return this._sessionClient.parts.resume.peek();
  }

  /** Sends what earlier pages could not send, then reads the session and its states. */
  resume() {
    return this._sessionClient.parts.resume.resume();
  }

  /** How many of the session's messages are not loaded: the oldest ones. `older()` reads them. */
  get unread() {
    return this._sessionClient.parts.olderMessages.unread;
  }

  /**
   * Reads the messages before the oldest loaded one: resolves with the longer list, and whether there are more.
   * @param {number} [limit]
   */
  older(limit) {
    return this._sessionClient.parts.olderMessages.older(limit);
  }

  /** Show the path to this message and on to the newest of its branch. @param {string} id */
  moveHead(id) {
    return this._sessionClient.moveHead(id);
  }

  /**
   * Save the present list; changes are sent to the server.
   * @param {readonly Message[]} messages @param {{streaming?: boolean, openingStep?: string}} [options]
   */
  save(messages, options) {
    this._clientOf(checked(messages)).save(messages, options);
  }

  /** The answer that the server is making in this session; null if there is none. */
  get answering() {
    return this._sessionClient.parts.answers.shown;
  }

  /** Save a question and let the server answer it. @param {string} text @param {AskOptions} [options] */
  ask(text, options = {}) {
    return this._sessionClient.ask(text, options);
  }

  /** Let the server answer a message of the list. @param {string} question its id @param {AskOptions & {again?: boolean}} [options] */
  answer(question, options = {}) {
    this._sessionClient.parts.answers.ask(question, options);
  }

  /** Stop the answer; its text so far stays. */
  stop() {
    return this._sessionClient.parts.answers.stop();
  }

  /** Continue an answer that was stopped or interrupted. @param {string} [message] its id; left out: the last one */
  continueAnswer(message) {
    return this._sessionClient.parts.answers.continueAnswer(message);
  }

  /** The models that can be named. @returns {Promise<Models>} */
  models() {
    return this._http.get("/models");
  }

  /** Send unacknowledged changes at once. Closing or hiding the page does this automatically. */
  flush() {
    return this._clients.map((client) => client.flush()).every(Boolean);
  }

  /** Resolves with true once everything is acknowledged. @param {number} [milliseconds] */
  settled(milliseconds) {
    return this._sessionClient.settled(milliseconds);
  }

  /** Resolves once everything is on this browser's disk. */
  stored() {
    return this._sessionClient.parts.queue.onDisk();
  }

  /**
   * Store a file; a part of a message then names it: `{type: "file", file, …}`. The same content is stored once.
   * @param {Blob} file @param {UploadOptions} [options]
   */
  upload(file, options = {}) {
    return this._sessionClient.upload(file, options);
  }

  /** Clear the chat at once. Resolves with the server's `{of, cleared, …}`; `undoClear()` undoes it. */
  clear() {
    return this._sessionClient.clear();
  }

  /** @param {number} [of] */
  undoClear(of) {
    return this._sessionClient.undoClear(of);
  }

  /** Start a new current session; the previous one becomes an earlier one. @param {{openingStep?: string}} [options] */
  newSession({ openingStep = "" } = {}) {
    return this._sessionClient.newSession(openingStep);
  }

  /** Continue in another project. Unsent changes still go to their own project. @param {string} project */
  async switchProject(project) {
    const former = this._sessionClient;
    if (project === former.project) return former.state();
    const present = this._former.find((one) => one.project === project) ?? this._makeSessionClient(project);
    former.flush();
    former.parts.answers.leave();
    this._sessionClient = present;
    this._former = [former, ...this._former.filter((one) => one !== present)];
    for (const forgotten of this._former.splice(MOST_FORMER)) forgotten.close();
    await former.settled(SWITCH_MS);
    return this.resume();
  }

  /** The agent's own state as the server has it now: plan, pending action, context; null if there is none. */
  state() {
    return this._sessionClient.parts.agentStates.read();
  }

  /**
   * Save some of the agent's state; fields that are left out stay, null removes a field. Retried until it is acknowledged, like messages.
   * @param {AgentStateFields} fields @param {{replace?: boolean}} [options]
   */
  saveState(fields, options) {
    return this._sessionClient.parts.agentStates.save(fields, options);
  }

  /**
   * Answer the agent's question. Resolves with the answer that counts, which may be an earlier one.
   * @param {"approve" | "reject"} decision @param {Parameters<import("./server/agent-states.js").AgentStates["resolve"]>[1]} [options]
   */
  resolveAction(decision, options) {
    return this._sessionClient.parts.agentStates.resolve(decision, options);
  }

  /** Store text that is typed and not sent yet, one of each kind per session. An empty text removes it. @param {string} text @param {string} [kind] */
  saveDraft(text, kind) {
    this._sessionClient.parts.drafts.save(checkedText(text, "saveDraft"), kind);
  }

  /** The session's draft; "" if there is none. @param {string} [kind] */
  draft(kind) {
    return this._sessionClient.parts.drafts.read(kind);
  }

  /** The project's handoff as it is now: `{live, frozen}`; null if nothing was ever written. */
  handoff() {
    return this._sessionClient.handoff();
  }

  /** @param {string} type @param {(detail: never, type: string) => void} handler @returns {() => void} ends it */
  on(type, handler) {
    return this._events.on(type, /** @type {Handler} */ (handler));
  }

  /** Sends refused requests again. */
  retry() {
    this._events.forget("refused", isWaiting);
    // What was said in another project waits for the same sign-in.
    for (const client of this._former) void client.retry();
    return this._sessionClient.retry();
  }

  /** Discards refused requests: the caller has their texts from the `refused` event. */
  discard() {
    this._events.forget("refused", isWaiting);
    return this._sessionClient.discard();
  }

  close() {
    globalThis.removeEventListener("pagehide", this._leave);
    document.removeEventListener("visibilitychange", this._hide);
    for (const client of this._clients) client.close();
  }

  get _clients() {
    return [this._sessionClient, ...this._former];
  }

  /** @param {string} project @returns {SessionClient} */
  _makeSessionClient(project) {
    if (typeof project !== "string" || project === "") {
      throw new TypeError("A project path is required: any name of up to 512 characters.");
    }
    /** @param {string} type @param {unknown} detail */
    const emit = (type, detail) => {
      if (type === "warning") this._warn(/** @type {Events["warning"]} */ (detail));
      else if (type === "refused") this._events.emit(type, this._standing.inWords(/** @type {Refused} */ (detail)));
      else if (made === this._sessionClient || type === "conflict") this._events.emit(type, detail);
    };
    /** @param {unknown[]} words */
    const log = (...words) => this._debug && console.log("[Stillhere]", ...words);
    const { _http: http, _client: client, _chat: chat } = this;
    const made = new SessionClient({ http, project, chat, client, emit, log, met: (error) => this._standing.met(error) });
    return made;
  }

  /** Each warning once. @param {Events["warning"]} detail */
  _warn(detail) {
    const { code, where, error } = detail;
    if (!this._warned.has(code)) console.warn("[Stillhere]", code, error);
    if (!this._warned.has(`${code} ${where}`)) this._events.emit("warning", detail);
    this._warned.add(code).add(`${code} ${where}`);
  }

  /** A late list from the previous project belongs to that project. @param {readonly Message[]} messages */
  _clientOf(messages) {
    const knows = (/** @type {SessionClient} */ client) => messages.some(({ id }) => client.knows(id));
    return this._clients.find(knows) ?? this._sessionClient;
  }
}

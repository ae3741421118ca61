/**
 * Stillhere in a browser: chats that are saved while they stream, and are back after whatever happened.
 *
 *     import { connect } from "https://chat.example.org/static/js/stillhere.js";
 *     const chat = connect({ baseUrl: "https://chat.example.org", project: "/home/ana/shop", auth: { key: "sh_…" } });
 *     const { messages } = await chat.resume();
 *     chat.save([...messages, { id: "m1", role: "user", text: "Hello" }]);
 *
 * Types and the events stand in `stillhere.d.ts`.
 *
 * @typedef {{key: string} | {cookie: true, user?: string, csrf?: string}} Auth
 */
import { checked } from "./stillhere/book.js";
import { readHandoff } from "./stillhere/handoff.js";
import { ApiError, Http, statusAfter } from "./stillhere/http.js";
import { Link } from "./stillhere/link.js";
import { Memory } from "./stillhere/memory.js";
import { Emitter, uuid } from "./stillhere/tools.js";

const SWITCH_MS = 3000;
const MOST_FORMER = 8;

/** @param {{baseUrl?: string, project: string, auth?: Auth, client?: string, debug?: boolean}} options */
export function connect(options) {
  return new Connection(options);
}

export { ApiError, uuid };

class Connection {
  constructor({ baseUrl = "", project, auth = { cookie: true }, client = "default", debug = false }) {
    this._http = new Http(baseUrl, auth);
    this._client = client;
    this._debug = debug;
    this._events = new Emitter();
    this._status = "connecting";
    this._former = [];
    this._link = this._makeLink(project);
    this._hide = () => {
      if (document.visibilityState === "hidden") this.flush();
    };
    this._leave = () => this.flush();
    globalThis.addEventListener("pagehide", this._leave);
    document.addEventListener("visibilitychange", this._hide);
  }

  get project() {
    return this._link.project;
  }

  get session() {
    return this._link.session;
  }

  get openingStep() {
    return this._link.openingStep;
  }

  /** `connecting` (nothing was answered yet), `online`, `offline` (it goes on by itself) or `denied` (somebody has to act). */
  get status() {
    return this._status;
  }

  /** What the project remembers beside its chats: `get`, `set`, `delete`, `list`. Nothing of it is queued: what fails rejects. */
  get memory() {
    if (this._memory?.project !== this.project) this._memory = new Memory(this._http, this.project);
    return this._memory;
  }

  /** Record errors of the frontend: the same one again counts up. */
  reportErrors(errors, options) {
    return this.memory.reportErrors(errors, options);
  }

  /** What a new run should know of the project, within so many tokens; null where there is no project yet. */
  context(options) {
    return this.memory.context(options);
  }

  /** The mirrored session at once, or null; no request is made. */
  peek() {
    return this._link.reader.peek();
  }

  /** Everything back, after what earlier pages could not send any more was sent. */
  resume() {
    return this._link.reader.resume();
  }

  /** Save the list as it is now; what changed goes to the server. */
  save(messages, options) {
    this._linkOf(checked(messages)).save(messages, options);
  }

  /** Hand over at once what is not acknowledged yet. Closing or hiding the page does this by itself. */
  flush() {
    return [this._link, ...this._former].map((link) => link.flush()).every(Boolean);
  }

  /** Resolves with true once everything is acknowledged. */
  settled(milliseconds) {
    return this._link.settled(milliseconds);
  }

  /** Start over, at once. Resolves with the server's `{of, cleared, …}`; `undoClear()` takes it back. */
  clear() {
    return this._link.clear();
  }

  undoClear(of) {
    return this._link.undoClear(of);
  }

  /** Another session becomes the one that resumes; the former is archived. */
  newSession({ openingStep = "" } = {}) {
    return this._link.newSession(openingStep);
  }

  /** Go on in another project. What is still unsent goes to the one it belongs to, then or later. */
  async switchProject(project) {
    const former = this._link;
    if (project === former.project) return former.reader.state();
    const link = this._former.find((one) => one.project === project) ?? this._makeLink(project);
    former.flush();
    this._link = link;
    this._former = [former, ...this._former.filter((link) => link !== this._link)];
    for (const forgotten of this._former.splice(MOST_FORMER)) forgotten.close();
    await former.settled(SWITCH_MS);
    return this.resume();
  }

  /** The agent's own state as the server has it now: plan, pending action, context; null where there is none. */
  state() {
    return this._link.states.read();
  }

  /** Save some of the agent's state; what is left out stays, null takes a field out. Goes on until it is answered, as messages do. */
  saveState(fields, options) {
    return this._link.states.save(fields, options);
  }

  /** Answer what the agent asks: `approve` or `reject`. Resolves with the answer that counts, which may be an earlier one. */
  resolveAction(decision, options) {
    return this._link.states.resolve(decision, options);
  }

  /** The project's handoff as it is now: `{live, frozen}`; null where nothing was ever written. */
  handoff() {
    return readHandoff(this._link);
  }

  /** @returns {() => void} ends it */
  on(type, handler) {
    return this._events.on(type, handler);
  }

  /** What was refused goes again. */
  retry() {
    for (const entry of this._link.waiting) delete entry.refused;
    return this._link.sender.retry();
  }

  /** What was refused is given up: the caller has its words from the `refused` event. */
  discard() {
    const link = this._link;
    link.waiting = link.waiting.filter((entry) => !entry.refused);
    link.stash();
    link.goOn();
    return link.sender.discard();
  }

  close() {
    globalThis.removeEventListener("pagehide", this._leave);
    document.removeEventListener("visibilitychange", this._hide);
    for (const link of [this._link, ...this._former]) link.close();
  }

  _makeLink(project) {
    if (typeof project !== "string" || project === "") {
      throw new TypeError("A project is needed, by its path: any name of up to 512 characters.");
    }
    const emit = (type, detail, link) => {
      if (link === this._link || type === "refused" || type === "conflict" || type === "warning") {
        if (type === "warning") console.warn("[Stillhere]", detail.code, detail.error);
        this._events.emit(type, detail);
      }
    };
    const log = (...words) => this._debug && console.log("[Stillhere]", ...words);
    const { _http: http, _client: client } = this;
    return new Link({ http, project, client, emit, log, met: (error) => this._met(error) });
  }

  /** Tells how the page stands with the server, when that is news. */
  _met(error) {
    const former = this._status;
    this._status = statusAfter(error);
    const code = this._status === "online" ? undefined : error.code;
    if (former === this._status && this._why === code) return;
    this._why = code;
    if (this._status === "denied") console.error("[Stillhere]", error.message);
    this._events.emit("status", { status: this._status, ...(code ? { error } : {}) });
    if (this._status === "offline" && former !== "offline") this._events.emit("offline", { error });
    else if (this._status === "online" && former !== "connecting") this._events.emit("online", {});
  }

  /** A list that was made in the project before, and comes late, belongs there. */
  _linkOf(messages) {
    if (messages.some(({ id }) => this._link.book.knows(id))) return this._link;
    return this._former.find((link) => messages.some(({ id }) => link.book.knows(id))) ?? this._link;
  }
}

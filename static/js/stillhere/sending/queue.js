/**
 * This page's unacknowledged changes. `operations` still grow; `waiting` are the requests made of them, in order. The outbox has both:
 * each request when it is made, the operations as a draft that is rewritten as they grow, each form with a `seq` of its own. The stash
 * covers the time until they are stored.
 */
import { sleep } from "../util.js";
import { Replacing } from "./replacing.js";
import { creation, keyOf, requestsOf, rerouted, step } from "./requests.js";

/**
 * @import { Session } from "../../stillhere.js"
 * @import { QueueNeeds } from "../needs.d.ts"
 * @import { Entry, EntryBody, Joined, Refusal, SentOperation } from "../types.d.ts"
 * @import { Context, Place } from "./requests.js"
 */

const DISK_MS = 2000;

export class Queue {
  /** @param {QueueNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** @type {Map<string, SentOperation>} */
    this.operations = new Map();
    /** The opening step to save; null: unchanged. @type {string | null} */
    this.newStep = null;
    /** Requests for answers, which follow the operations. @type {EntryBody[]} */
    this.asks = [];
    /** @type {Entry[]} */
    this.waiting = [];
    this.seq = 0;
    this.disk = new Replacing(needs.outbox);
    this.version = 0;
    this.stored = 0;
    this.storedAt = -Infinity;
    this.keepDue = 0;
    this.storing = false;
    this.again = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.keeping = undefined;
  }

  get unsent() {
    return this.operations.size > 0 || this.newStep !== null || this.asks.length > 0;
  }

  /** Unanswered requests of the present session. A refusal in a former session blocks nothing. */
  get present() {
    const { session } = this.needs.state;
    return session ? this.waiting.filter((entry) => entry.session === session.id) : this.waiting;
  }

  /** The epoch of the next request: clears that the server does not have yet are done by then. @param {Session | null} session */
  epochIn(session) {
    const epoch = session?.epoch ?? 1;
    const clears = [...this.needs.state.inherited, ...this.waiting].filter((entry) => entry.kind === "clear" && !entry.late);
    return epoch + clears.filter((entry) => entry.session === session?.id && (entry.body.epoch ?? 1) >= epoch).length;
  }

  get epoch() {
    return this.epochIn(this.needs.state.session);
  }

  /** Is the present session about to be cleared? */
  get clears() {
    return this.epoch > (this.needs.state.session?.epoch ?? 1);
  }

  get openingStep() {
    return this.newStep ?? this.needs.state.session?.opening_step ?? "";
  }

  /** Is the request that creates this session still unanswered? @param {string} session */
  unmade(session) {
    return this.waiting.some((entry) => entry.kind === "create" && entry.session === session && !entry.refused);
  }

  /** Is an operation on this message unacknowledged? Then the server's version is older than this page's. @param {string} id */
  holds(id) {
    return Boolean(this.newest(id));
  }

  /** The newest unacknowledged operation on a message; what is too late for the present epoch changes nothing in it. @param {string} id */
  newest(id) {
    if (this.operations.has(id)) return this.operations.get(id);
    return this.waiting.flatMap(({ late, body }) => (late ? [] : (body.ops ?? []))).findLast((operation) => operation.id === id);
  }

  /** Call `keep()` or `seal()` next. @param {SentOperation[]} operations @param {string} [openingStep] left out: it stays */
  add(operations, openingStep) {
    for (const operation of operations) this.operations.set(operation.id, operation);
    if (openingStep !== undefined) this.newStep = openingStep;
    this.version += 1;
  }

  /** Ask for an answer, behind all operations so far. Call `keep()` or `seal()` next. @param {EntryBody} body */
  ask(body) {
    this.asks.push(body);
    this.version += 1;
  }

  /** @param {string} id of a request for an answer @returns {boolean} false if it may be on its way */
  cancel(id) {
    const known = this.asks.length;
    this.asks = this.asks.filter((body) => body.id !== id);
    this.version += 1;
    if (this.asks.length === known) return false;
    if (this.unsent) this.keep(0);
    else this._store([]);
    return true;
  }

  /** The opening step of the session that is created next. @param {string} openingStep */
  begin(openingStep) {
    this.newStep = openingStep || null;
  }

  /** Stash the operations now, and store them within so many milliseconds of the last time. @param {number} wait */
  keep(wait) {
    this.stash();
    const due = Math.max(performance.now(), this.storedAt + wait);
    if (this.keeping && this.keepDue <= due) return;
    // No unnecessary timer: hidden pages run timers late.
    if (due <= performance.now()) return void this._keep();
    clearTimeout(this.keeping);
    this.keepDue = due;
    this.keeping = setTimeout(() => this._keep(), due - performance.now());
  }

  /** Make requests of all operations. Resolves when they are stored. */
  async seal() {
    if (this.newStep !== null) this.needs.state.atStep(this.newStep);
    if (this.unsent) await this.enqueue(...this._requests());
  }

  /** Add requests. Resolves when they are stored. @param {Entry[]} entries */
  async enqueue(...entries) {
    this.waiting.push(...entries);
    await this._store(entries);
    for (const entry of entries) this.needs.queued(entry);
  }

  /**
   * For a closing page: the operations of these requests and all others, as new requests that each fit into a beacon. The
   * former requests are still sent in their turn; they change nothing then.
   * @param {Entry[]} former @param {number} characters
   */
  handOver(former, characters) {
    const operations = new Map(former.flatMap(({ body }) => body.ops ?? []).map((operation) => [operation.id, operation]));
    this.operations = new Map([...operations, ...this.operations]);
    const entries = this._requests(characters);
    for (const entry of [...former, ...entries]) entry.covered = true;
    this.enqueue(...entries);
    return entries;
  }

  /** The request that creates the next session. */
  create() {
    const entry = creation({ ...this._context(), session: this.needs.state.nextId }, this.newStep);
    this.newStep = null;
    return entry;
  }

  /** One request. @param {"changes" | "clear" | "undo"} kind @param {string} path @param {EntryBody} body @param {Place} [place] */
  step(kind, path, body, place) {
    return step({ ...this._context(), ...place }, this._next(), kind, path, body);
  }

  /** A request was answered. @param {string} key @returns it, if it is this page's */
  answered(key) {
    const own = this.waiting.find((entry) => entry.key === key);
    if (!own) return undefined;
    own.done = true;
    this.waiting = this.waiting.filter((entry) => entry !== own);
    this.stash();
    return own;
  }

  /** @param {string} key @param {Refusal} refused */
  refuse(key, refused) {
    for (const entry of this.waiting) if (entry.key === key) entry.refused = refused;
  }

  /** The session `from` is never made: what this page meant for it goes to another one. @param {Joined} joined */
  join(joined) {
    const own = this.waiting.filter(({ session, kind }) => session === joined.from && kind !== "create");
    const former = [...own.map(keyOf), ...this.disk.draftKeys];
    for (const entry of own) Object.assign(entry, rerouted(entry, joined), { kept: false });
    this.disk.draftKeys = this.disk.draftKeys.map((key) => key.replace(joined.from, joined.session.id));
    this.version += 1;
    this._store(own, former);
    this.moved();
  }

  /** What is unsent belongs to another session now. */
  moved() {
    this.version += 1;
    if (this.unsent) this.keep(0);
  }

  /** The browser took away what it had stored. */
  storeAgain() {
    for (const entry of this.waiting) entry.kept = false;
    void this._store(this.waiting);
    this.moved();
  }

  retry() {
    for (const entry of this.waiting) delete entry.refused;
  }

  /** Discard refused requests. */
  discard() {
    this.waiting = this.waiting.filter((entry) => !entry.refused);
    this.stash();
  }

  /** Write to localStorage what IndexedDB does not have yet. */
  stash() {
    const drafts = this.unsent && this.version > this.stored ? this._drafts() : [];
    const { replaced, draftKeys } = this.disk;
    const instead = drafts.length > 0 ? [...replaced, ...draftKeys] : replaced;
    this.needs.outbox.stash(this.needs.identity.writer, [...this.waiting.filter((entry) => !entry.kept), ...drafts], instead);
  }

  /** Resolves when everything is stored in this browser, or cannot be. */
  async onDisk() {
    await null;
    // Would a killed browser lose anything?
    const exposed = () => this.waiting.some((entry) => !entry.kept) || (this.unsent && this.version > this.stored);
    for (const until = performance.now() + DISK_MS; exposed() && performance.now() < until; ) await sleep(10);
  }

  close() {
    clearTimeout(this.keeping);
  }

  // How the operations become requests.

  /** @returns {Context} */
  _context() {
    const { identity, state, seenOf } = this.needs;
    const { id: session, baseRev } = state;
    return { ...identity, session, created: state.session !== null, epoch: this.epoch, baseRev, seenOf };
  }

  _next() {
    this.seq += 1;
    return this.seq;
  }

  /** @param {number} [characters] */
  _requests(characters) {
    const made = requestsOf(this._context(), () => this._next(), this, characters);
    this.operations = new Map();
    this.newStep = null;
    this.asks = [];
    this.stored = this.version;
    return made;
  }

  /** The operations as the requests that a successor sends if the page ends now. */
  _drafts() {
    const context = this._context();
    const made = context.created ? [] : [creation(context, this.newStep)];
    return [...made, ...requestsOf(context, () => this._next(), this)].map((entry) => ({ ...entry, draft: true }));
  }

  /** In the stash at once. @param {Entry[]} entries @param {string[]} [instead] keys of what they replace */
  async _store(entries, instead = []) {
    const own = entries.map(({ key }) => key);
    const storing = this.disk.put(entries, [...instead, ...(this.unsent ? [] : this.disk.draftKeys)]);
    this.stash();
    if (!(await storing)) return;
    // One that was meant for another session meanwhile has another key.
    for (const entry of entries) if (own.includes(entry.key)) entry.kept = true;
    this.stash();
  }

  async _keep() {
    clearTimeout(this.keeping);
    this.keeping = undefined;
    if (this.storing) this.again = true;
    if (this.storing || !this.unsent || this.stored === this.version) return;
    this.storing = true;
    this.again = false;
    this.storedAt = performance.now();
    await this._keepDraft();
    this.storing = false;
    if (this.again) this._keep();
  }

  async _keepDraft() {
    const { version } = this;
    if (this.disk.draftKeys.length === 0) this.needs.drafted();
    const kept = await this.disk.putDraft(this._drafts());
    if (kept) this.stored = Math.max(this.stored, version);
    this.stash();
  }
}

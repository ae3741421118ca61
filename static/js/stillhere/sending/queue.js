/**
 * The unacknowledged changes of this page. `operations` still grow; `waiting` are the requests made of them, in
 * order. Both are stored in the outbox: each request when it is made, the operations as a draft that is rewritten as they
 * grow. The stash covers the time until they are stored. A `seq` is used for one body only: each form of a draft gets its own.
 */
import { sleep } from "../util.js";
import { asking, changes, creation, pieces, step } from "./requests.js";

/**
 * @import { QueueNeeds } from "../needs.d.ts"
 * @import { Entry, EntryBody, Refusal, SentOperation } from "../types.d.ts"
 * @import { Context } from "./requests.js"
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
    /** @type {string[]} */
    this.draftKeys = [];
    this.version = 0;
    this.stored = 0;
    this.storedAt = 0;
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

  /** Number of waiting clears by this page. */
  get clears() {
    return this.present.filter((entry) => entry.kind === "clear" && !entry.late).length;
  }

  /** The epoch of the next request: waiting clears are done by then. */
  get epoch() {
    return (this.needs.state.session?.epoch ?? 1) + this.clears;
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

  /** The newest unacknowledged operation on a message. @param {string} id */
  newest(id) {
    if (this.operations.has(id)) return this.operations.get(id);
    return this.waiting.flatMap((entry) => entry.body.ops ?? []).findLast((operation) => operation.id === id);
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
    if (this.asks.length < known) this.keep(0);
    return this.asks.length < known;
  }

  /** The opening step of the session that is created next. @param {string} openingStep */
  begin(openingStep) {
    this.newStep = openingStep || null;
  }

  /**
   * Stash the operations now and store them within so many milliseconds; at once if the last time was longer ago.
   * @param {number} wait
   */
  keep(wait) {
    this.stash();
    const due = Math.max(Date.now(), this.storedAt + wait);
    if (this.keeping && this.keepDue <= due) return;
    clearTimeout(this.keeping);
    this.keeping = undefined;
    // No unnecessary timer: hidden pages run timers late.
    if (due <= Date.now()) return void this._keep();
    this.keepDue = due;
    this.keeping = setTimeout(() => this._keep(), due - Date.now());
  }

  /** Make requests of all operations. Resolves when they are stored. */
  async seal() {
    if (this.newStep !== null) this.needs.state.atStep(this.newStep);
    if (this.unsent) await this.enqueue(...this._requests());
  }

  /** Add requests. Resolves when they are stored. @param {Entry[]} entries */
  async enqueue(...entries) {
    this.waiting.push(...entries);
    this.stash();
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
    for (const [id, operation] of this.operations) operations.set(id, operation);
    this.operations = operations;
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

  /** A request that carries no operations. @param {"clear" | "undo"} kind @param {string} path @param {EntryBody} body */
  step(kind, path, body) {
    return step(this._context(), this._next(), kind, path, body);
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

  /** The present requests that somebody else's clear overtook, each once. @param {number} epoch the one after that clear */
  overtaken(epoch) {
    const late = this.present.filter(({ body, refused, late }) => (body.epoch ?? epoch) < epoch && !refused && !late);
    for (const entry of late) entry.late = true;
    return late;
  }

  /** @param {string} key @param {Refusal} refused */
  refuse(key, refused) {
    const own = this.waiting.find((entry) => entry.key === key);
    if (own) own.refused = refused;
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
    this.needs.outbox.stash(this.needs.identity.writer, [...this.waiting.filter((entry) => !entry.kept), ...drafts]);
  }

  /** Resolves when everything is stored in this browser, or cannot be. */
  async onDisk() {
    await null;
    for (const until = Date.now() + DISK_MS; this._exposed && Date.now() < until; ) await sleep(10);
  }

  close() {
    clearTimeout(this.keeping);
  }

  /** Would a killed browser lose anything? */
  get _exposed() {
    return this.waiting.some((entry) => !entry.kept) || (this.unsent && this.version > this.stored);
  }

  // How the operations become requests.

  /** @returns {Context} */
  _context() {
    const { identity, state, verOf } = this.needs;
    const { scope, project, chat, writer } = identity;
    const { id: session, baseRev } = state;
    return { scope, project, chat, writer, session, created: state.session !== null, epoch: this.epoch, baseRev, verOf };
  }

  _next() {
    this.seq += 1;
    return this.seq;
  }

  /** @param {number} [characters] */
  _requests(characters) {
    const { newStep: openingStep, asks } = this;
    const lists = this.operations.size > 0 || openingStep !== null ? pieces(this.operations.values(), characters) : [];
    this.operations = new Map();
    this.newStep = null;
    this.asks = [];
    this.stored = this.version;
    const saves = lists.map((ops, at) => changes(this._context(), this._next(), ops, at === 0 ? openingStep : null));
    return [...saves, ...asks.map((body) => asking(this._context(), this._next(), body))];
  }

  /** The operations as the requests that a successor sends if the page ends now. */
  _drafts() {
    const context = this._context();
    const made = context.created ? [] : [creation(context, this.newStep)];
    const steps = (/** @type {number} */ at) => (at === 0 ? this.newStep : null);
    const saves = pieces(this.operations.values()).map((ops, at) => changes(context, this._next(), ops, steps(at)));
    const asks = this.asks.map((body) => asking(context, this._next(), body));
    return [...made, ...saves, ...asks].map((entry) => ({ ...entry, draft: true }));
  }

  /** @param {Entry[]} entries */
  async _store(entries) {
    const own = new Set(entries.map((entry) => entry.key));
    const former = this.unsent ? [] : this.draftKeys;
    this.draftKeys = this.draftKeys.filter((key) => !own.has(key) && !former.includes(key));
    const kept = await this.needs.outbox.put(entries, former);
    if (!kept) return;
    for (const entry of entries) entry.kept = true;
    this.stash();
  }

  async _keep() {
    clearTimeout(this.keeping);
    this.keeping = undefined;
    if (this.storing) this.again = true;
    if (this.storing || !this.unsent || this.stored === this.version) return;
    this.storing = true;
    this.storedAt = Date.now();
    await this._keepDraft();
    this.storing = false;
    if (!this.again) return;
    this.again = false;
    this._keep();
  }

  async _keepDraft() {
    const { version, draftKeys: former } = this;
    const drafts = this._drafts();
    this.draftKeys = drafts.map(({ key }) => key);
    if (former.length === 0) this.needs.drafted();
    const kept = await this.needs.outbox.put(drafts, former);
    if (!kept) return;
    this.stored = Math.max(this.stored, version);
    this.stash();
  }
}

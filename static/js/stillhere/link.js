/** One project's session as this page writes it. What leaves the page goes through the queue; nothing is sent beside it. */
import { takeAnswer, takeRefusal } from "./answers.js";
import { Book } from "./book.js";
import { creation, draft, step, takeDirty } from "./entries.js";
import { ApiError, backoff } from "./http.js";
import { hold, inTurn } from "./locks.js";
import { Live } from "./live.js";
import { Reader } from "./reader.js";
import { Sender } from "./sender.js";
import { StartOver } from "./startover.js";
import { States } from "./states.js";
import { keyOf, Storage } from "./storage.js";
import { bytesOf, digest, sleep, uuid, within } from "./tools.js";

const STREAMING_MS = 2000;
const SETTLED_MS = 300;
const MIRROR_MS = 400;
const BEACON_BYTES = 59 * 1024;

export class Link {
  /**
   * @param {{http: import("./http.js").Http, project: string, client: string, emit: Function, log: Function,
   *          met: (error: ApiError | null) => void}} options `met`: an attempt was answered (null), or what came instead
   */
  constructor({ http, project, client, emit, log, met }) {
    Object.assign(this, { http, project, client, log, met });
    this.emit = (type, detail) => emit(type, detail, this);
    const account = http.auth.key ?? http.auth.user ?? "";
    this.scope = `${digest(`${http.base}\n${account}`)}:${encodeURIComponent(project)}`;
    this.storage = new Storage(this.scope, (code, error) => this.emit("warning", { code, error }));
    this.writer = uuid();
    this.alive = hold(`stillhere:writer:${this.writer}`);
    this.seq = 0;
    this.session = null;
    this.provisional = uuid();
    this.baseRev = 0;
    this.savedAt = null;
    this.book = new Book();
    this.dirty = new Map();
    this.step = null;
    this.waiting = [];
    this.resolvers = new Map();
    this.closed = false;
    this.live = new Live(this);
    this.reader = new Reader(this);
    this.startOver = new StartOver(this);
    this.states = new States(this);
    this.sender = new Sender({
      scope: this.scope,
      http,
      storage: this.storage,
      answered: (...answer) => takeAnswer(this, ...answer),
      refused: (entry) => takeRefusal(this, entry),
      frame: (frame) => this.live.take(frame),
      met,
      leads: () => this._lead(),
    });
  }

  /** What waits for its answer from the present session. A refusal by a former one holds nothing up. */
  get present() {
    return this.session ? this.waiting.filter((entry) => entry.session === this.session.id) : this.waiting;
  }

  get epoch() {
    return (this.session?.epoch ?? 1) + this.present.filter((entry) => entry.kind === "clear").length;
  }

  get unsent() {
    return this.dirty.size > 0 || this.step !== null;
  }

  /** Take the caller's list; the difference goes when its time has come. */
  save(messages, { streaming = false, openingStep } = {}) {
    const operations = this.book.take(messages, { streaming });
    for (const operation of operations) this.dirty.set(operation.id, operation);
    if (openingStep !== undefined && openingStep !== this.openingStep) this.step = openingStep;
    this.streaming = streaming;
    if (!this.unsent) return;
    this.stash();
    this._mirrorSoon();
    const urgent = operations.some((operation) => operation.role === "user" || operation.op === "delete");
    this._schedule(urgent ? 0 : streaming ? STREAMING_MS : SETTLED_MS, { keep: streaming });
  }

  get openingStep() {
    return this.step ?? this.session?.opening_step ?? "";
  }

  /** Make a request of what is due, one at a time. */
  async pump() {
    if (this.pumping || this.closed || this.present.length > 0 || !this.unsent) return;
    this.pumping = true;
    try {
      if (!this.session) await this._findOrCreate();
      if (this.present.every((entry) => entry.kind === "create") && this.unsent) await this._enqueue(takeDirty(this));
    } finally {
      this.pumping = false;
    }
  }

  /** Hand over everything at once, as a page does that may not come back. Answers whether it all went out. */
  flush() {
    this.mirror();
    this.states.flush();
    const parked = this.present.filter((entry) => entry.kind !== "changes");
    const flying = this.present.filter((entry) => entry.kind === "changes" && !entry.covered);
    if (!this.unsent && flying.length === 0) return this.present.length === 0;
    if (!this.session) {
      this.stash();
      return false;
    }
    const merged = new Map();
    if (parked.length === 0) for (const entry of flying) for (const op of entry.body.ops) merged.set(op.id, op);
    for (const [id, operation] of this.dirty) merged.set(id, operation);
    this.dirty = merged;
    for (const entry of flying) entry.covered = true;
    const entries = [];
    while (this.unsent) entries.push(takeDirty(this, BEACON_BYTES - 1024));
    for (const entry of entries) entry.covered = true;
    this.waiting.push(...entries);
    this.stash();
    for (const entry of entries) this.storage.put(entry).then(() => this.sender.expect(entry));
    const [first] = entries;
    if (parked.length > 0 || bytesOf(JSON.stringify(first.body)) > BEACON_BYTES) return false;
    first.beaconed = this.http.beacon(this.session.id, first.body, this.flushToken);
    return first.beaconed && entries.length === 1;
  }

  /** Resolves once everything is acknowledged; false if it is not by then. */
  async settled(milliseconds = 10_000) {
    const until = Date.now() + milliseconds;
    while (this.unsent || this.present.length > 0 || this.states.due.length > 0) {
      if (Date.now() > until || this.present.some((entry) => entry.refused)) return false;
      if (this.present.length === 0) await within(this.pump(), Math.max(1, until - Date.now()));
      await sleep(15);
    }
    return true;
  }

  /** Start over. At once for the page; for the server in its turn, after what was said before. Answers when that is done. */
  async clear() {
    if (!this.session && !(await this.settled(3000))) return null;
    if (!this.session) return null;
    while (this.unsent) await this._enqueue(takeDirty(this));
    this.book.reset([], { bury: true });
    const path = `/sessions/${this.session.id}/clear`;
    const entry = step(this, "clear", "POST", path, { epoch: this.epoch });
    this.session.opening_step = "";
    const answered = this._answerTo(entry);
    this._enqueue(entry);
    this.mirror();
    this.emit("cleared", { by: "this", unsent: [], messages: [] });
    return answered;
  }

  /** Take the last clear back, or that of an epoch. Null where it was taken back already, or is erased: then nothing changed. */
  async undoClear(of) {
    if (!this.session) return null;
    while (this.unsent) await this._enqueue(takeDirty(this));
    const path = `/sessions/${this.session.id}/undo-clear`;
    const entry = step(this, "undo", "POST", path, { epoch: this.epoch, ...(of === undefined ? {} : { of }) });
    const answered = this._answerTo(entry);
    this._enqueue(entry);
    return answered;
  }

  /** Another session in the project; it is the one that resumes. */
  async newSession(openingStep) {
    await this.settled(3000);
    this.book.reset([], { bury: true });
    this.reader.bundle = null;
    this.step = openingStep || null;
    this.flushTokenAt = 0;
    await this._create();
    this.mirror();
    return this.reader.state();
  }

  stash() {
    const entries = this.waiting.filter((entry) => !entry.kept);
    if (this.unsent) {
      if (!this.session) entries.unshift(creation(this, this.provisional));
      const sketch = draft(this, [...this.dirty.values()]);
      entries.push({ ...sketch, seq: this.seq + 1, body: { ...sketch.body, seq: this.seq + 1 } });
    }
    return this.storage.stash(this.writer, entries.length ? { entries } : null);
  }

  mirror() {
    clearTimeout(this.mirroring);
    this.mirroring = undefined;
    if (!this.session && this.book.messages.size === 0) return;
    const session = { ...(this.session ?? { id: this.provisional, epoch: 1, rev: 0 }), opening_step: this.openingStep };
    this.storage.mirror({ session, messages: this.book.list(), savedAt: this.savedAt, agentState: this.states.known });
  }

  close() {
    if (this.unsent || this.waiting.length > 0 || this.states.due.length > 0) this.flush();
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.mirroring);
    this.live.close();
    this.sender.close();
    this.storage.close();
    this.alive.release();
  }

  // How requests are made.

  /** While streaming, the time once set stands; otherwise the pause counts from the last change, up to a limit. */
  _schedule(wait, { keep }) {
    const present = Date.now();
    if (this.timer && this.dueAt <= present + wait && (keep || this.dueAt <= present)) return;
    if (!this.timer) this.firstAt = present;
    clearTimeout(this.timer);
    this.dueAt = keep ? present + wait : Math.min(present + wait, this.firstAt + STREAMING_MS);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.pump();
    }, Math.max(0, this.dueAt - present));
  }

  /** After an answer: what waited for it goes now, unless its own time has not come. */
  goOn() {
    if (!this.unsent || this.timer) return;
    const own = [...this.dirty.values()].some((operation) => operation.role === "user");
    this._schedule(this.streaming && !own ? STREAMING_MS : 0, { keep: true });
  }

  async _enqueue(entry) {
    entry.key = keyOf(entry);
    this.waiting.push(entry);
    if (entry.body.opening_step !== undefined && this.session) this.session.opening_step = entry.body.opening_step;
    this.stash();
    await this.storage.put(entry);
    this.stash();
    this.sender.expect(entry);
  }

  /** The project's current session, or a new one: one tab at a time asks, so that two do not both create. */
  async _findOrCreate() {
    await inTurn(`stillhere:create:${this.scope}`, async () => {
      for (let failures = 1; !this.session && !this.closed; failures += 1) {
        try {
          const found = await this.reader.open({ quiet: true });
          this.met(null);
          if (!found) await this._create();
          return;
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          this.met(error);
          if (!error.passing) return this.emit("refused", { ...error, message: error.message, operations: [...this.dirty.values()] });
          await this._pause(backoff(failures, error.retryAfter));
        }
      }
    });
  }

  async _create() {
    const entry = creation(this, this.provisional);
    this.session = { id: this.provisional, epoch: 1, rev: 0, opening_step: this.step ?? "", project: this.project };
    this.provisional = uuid();
    this.baseRev = 0;
    this.savedAt = null;
    this.step = null;
    this.states.forget();
    const created = this._answerTo(entry);
    await this._enqueue(entry);
    await within(created, 5000);
  }

  _pause(milliseconds) {
    return new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
      globalThis.addEventListener?.("online", resolve, { once: true });
    });
  }

  /** This tab sends from now on, and what ended tabs left as well. */
  async _lead() {
    this.live.lead();
    this.storage.watch(this.writer, () => this.sender.poke());
    await this.storage.adopt(this.writer);
    this.sender.poke();
  }

  _answerTo(entry) {
    return new Promise((resolve) => {
      this.resolvers.set(keyOf(entry), resolve);
    });
  }

  _mirrorSoon() {
    this.mirroring ??= setTimeout(() => this.mirror(), MIRROR_MS);
  }
}

/** Creates the parts of one project's session and gives each what it needs. A part holds only its own state. */
import { Answers } from "./answers/answers.js";
import { SilentAnswers, watching } from "./answers/silent-answers.js";
import { Batching } from "./sending/batching.js";
import { Queue } from "./sending/queue.js";
import { unanswered } from "./sending/requests.js";
import { Responses } from "./sending/responses.js";
import { Retry } from "./sending/retry.js";
import { Sender } from "./sending/sender.js";
import { AgentStates } from "./server/agent-states.js";
import { EventSocket } from "./server/event-socket.js";
import { FlushToken } from "./server/flush-token.js";
import { Reach } from "./server/reach.js";
import { Adoption } from "./session/adoption.js";
import { CatchUp } from "./session/catch-up.js";
import { EpochChange } from "./session/epoch-change.js";
import { MessageStore } from "./session/message-store.js";
import { Mirror } from "./session/mirror.js";
import { OlderMessages } from "./session/older-messages.js";
import { LEFTOVERS_MS, Resume } from "./session/resume.js";
import { SessionEvents } from "./session/session-events.js";
import { SessionOpening } from "./session/session-opening.js";
import { SessionReader } from "./session/session-reader.js";
import { SessionState } from "./session/session-state.js";
import { BrowserStorage } from "./storage/browser-storage.js";
import { Drafts } from "./storage/drafts.js";
import { KeyOwner } from "./storage/key-owner.js";
import { LocalStore } from "./storage/local-storage.js";
import { Outbox } from "./storage/outbox.js";
import { scopeOf, uuid } from "./util.js";

/**
 * @import { PartsNeeds, ResponsesNeeds } from "./needs.d.ts"
 * @import { Identity, Joined, Warn } from "./types.d.ts"
 */

export class SessionParts {
  /** @param {PartsNeeds} needs */
  constructor({ http, project, chat, client, emit, log, met }) {
    this.http = http;
    this.emit = watching(emit, () => this.silentAnswers.watch());
    this.log = log;
    /** @type {Identity} */
    this.identity = { scope: scopeOf(http, project, chat), project, chat, client, writer: uuid() };
    this.state = new SessionState();
    this.store = new MessageStore();
    this.reach = new Reach(met);
    this.retry = new Retry(this.reach.met);
    /** Retries until there is an answer; null if it is refused. @template T @param {() => Promise<T>} ask */
    this.patiently = (ask) =>
      this.retry.untilAnswered(ask, { refused: (error) => emit("refused", { ...error.refusal, operations: [] }) });
    this.flushToken = new FlushToken(http, log);
    const local = new LocalStore(this._warning("localStorage"));
    this.storage = new BrowserStorage(this.identity.scope, local, this._warning("indexedDB"));
    this.outbox = new Outbox(this.identity.scope, local, this._warning("indexedDB"), () => this.sender.poke());
    this.keyOwner = this._makeKeyOwner(local);
    this.queue = this._makeQueue();
    this.batching = new Batching({ queue: this.queue, state: this.state, findOrCreate: () => this.opening.findOrCreate() });
    this.agentStates = this._makeAgentStates();
    this.mirror = this._makeMirror();
    this.drafts = this._makeDrafts();
    this.events = this._makeEvents();
    this.olderMessages = this._makeOlderMessages();
    this.epochChange = this._makeEpochChange();
    this.adoption = this._makeAdoption();
    this.reader = this._makeReader();
    this.catchUp = this._makeCatchUp();
    this.answers = this._makeAnswers();
    this.silentAnswers = new SilentAnswers({ store: this.store, catchUp: this.catchUp, answers: this.answers });
    this.sessionEvents = this._makeSessionEvents();
    this.responses = this._makeResponses();
    this.opening = this._makeOpening();
    this.sender = this._makeSender();
    this.resume = this._makeResume();
  }

  close() {
    const { retry, batching, queue, mirror, agentStates, catchUp, answers, sessionEvents, events, sender } = this;
    const parts = [retry, batching, queue, mirror, agentStates, catchUp, answers, sessionEvents, events, sender];
    for (const part of [...parts, this.outbox, this.keyOwner, this.silentAnswers]) part.close();
  }

  // Storage.

  /** Deferred, because a store may warn while it is created. @param {"localStorage" | "indexedDB"} where @returns {Warn} */
  _warning(where) {
    return (code, error) => queueMicrotask(() => this.emit("warning", { code, error, where }));
  }

  /** @param {LocalStore} local @returns {KeyOwner} */
  _makeKeyOwner(local) {
    const { http, identity, storage, outbox } = this;
    const taken = () => this.sender.reconsider().then(() => this.sender.poke());
    return new KeyOwner({ http, scope: identity.scope, local, storage, outbox, taken });
  }

  /** @returns {Drafts} */
  _makeDrafts() {
    const { identity, storage, state, mirror, queue } = this;
    const shown = () => {
      const session = state.session ?? mirror.read()?.session;
      // Of a chat there is one session: what is begun before it is known belongs to it, whatever its id will be.
      return identity.chat !== undefined && !session?.project_id ? "" : (session?.id ?? "");
    };
    return new Drafts(storage, shown, () => queue.onDisk());
  }

  /** @returns {Mirror} */
  _makeMirror() {
    const { identity, storage, state, store, queue, agentStates } = this;
    const { project, writer } = identity;
    const openingStep = () => queue.openingStep;
    const epoch = () => queue.epoch;
    const own = () => unanswered({ session: state.id, writer, epoch: queue.epoch }, queue);
    const agentState = () => agentStates.known;
    const unread = () => this.olderMessages.unread;
    return new Mirror({ project, storage, state, store, openingStep, epoch, unanswered: own, agentState, unread });
  }

  // Sending.

  /** @returns {Queue} */
  _makeQueue() {
    const { identity, state, store, outbox } = this;
    const queue = new Queue({
      identity,
      state,
      outbox,
      seenOf: (id) => store.seenOf(id),
      queued: (entry) => this.sender.expect(entry),
      drafted: () => this.sender.tell({ kind: "draft", writer: identity.writer }),
    });
    outbox.database.gone = () => queue.storeAgain();
    return queue;
  }

  /** @returns {Responses} */
  _makeResponses() {
    const { state, store, queue, reader, catchUp, epochChange, mirror, batching, emit, log } = this;
    const goOn = () => batching.goOn();
    const opened = () => void this._opened();
    /** @type {ResponsesNeeds["acknowledged"]} */
    const acknowledged = (...answer) => this.answers.acknowledged(...answer);
    const known = { state, store, queue, reader, catchUp, epochChange, mirror };
    return new Responses({ ...known, acknowledged, goOn, opened, emit, log });
  }

  /** @returns {Sender} */
  _makeSender() {
    const { identity, http, outbox, responses, events, reach } = this;
    return new Sender({
      scope: identity.scope,
      http,
      outbox,
      met: reach.met,
      answered: (entry, status, body) => responses.take(entry, status, body),
      refused: (entry) => responses.refuse(entry),
      joined: (joined) => this._joined(joined),
      frame: (frame) => events.take(frame),
      listens: (since) => events.passed(since),
      leads: () => {
        events.lead();
        return outbox.adopt(identity.writer);
      },
    });
  }

  // The server.

  /** @returns {AgentStates} */
  _makeAgentStates() {
    const { http, identity, state, storage, retry, queue, emit } = this;
    const known = { http, writer: identity.writer, state, storage, retry, emit };
    const findOrCreate = () => this.opening.findOrCreate();
    const unmade = (/** @type {string} */ session) => queue.unmade(session);
    return new AgentStates({ ...known, findOrCreate, unmade, learned: () => this.mirror.write() });
  }

  /** @returns {EventSocket} */
  _makeEvents() {
    return new EventSocket({
      http: this.http,
      project: this.identity.project,
      taken: (frame) => this.sessionEvents.take(frame),
      tell: (frame) => this.sender.tell({ kind: "frame", frame }),
      listens: (since) => this.sender.tell({ kind: "listens", since }),
      missed: () => this.sessionEvents.missed(),
      belongs: (account) => this.keyOwner.belongs(account),
    });
  }

  // The session.

  /** @returns {OlderMessages} */
  _makeOlderMessages() {
    const { http, state, queue, store } = this;
    return new OlderMessages({ http, state, queue, store });
  }

  /** @returns {EpochChange} */
  _makeEpochChange() {
    const { state, queue, store, batching, emit } = this;
    return new EpochChange({ state, queue, store, reread: () => this.reader.reread(), goOn: () => batching.goOn(), emit });
  }

  /** @returns {Adoption} */
  _makeAdoption() {
    const { identity, state, store, queue, mirror, olderMessages, epochChange, batching } = this;
    const { writer, chat } = identity;
    const known = { writer, chat, state, store, queue, mirror, olderMessages, epochChange };
    const goOn = () => batching.goOn();
    const moved = (/** @type {[string, string]} */ ...ids) => this._moved(...ids);
    return new Adoption({ ...known, goOn, moved, carry: (joined) => this._carry(joined), opened: () => this._opened() });
  }

  /** @returns {SessionReader} */
  _makeReader() {
    const { identity, http, state, store, queue, mirror, olderMessages, agentStates, adoption, epochChange, events, emit } = this;
    const { outbox, patiently } = this;
    const known = { identity, http, state, store, queue, outbox, mirror, olderMessages, agentStates };
    return new SessionReader({ ...known, adoption, epochChange, events, patiently, emit });
  }

  /** @returns {CatchUp} */
  _makeCatchUp() {
    const { http, state, store, queue, olderMessages, epochChange, mirror, patiently, emit } = this;
    return new CatchUp({ http, state, store, queue, olderMessages, epochChange, mirror, patiently, emit });
  }

  /** @returns {Answers} */
  _makeAnswers() {
    const { http, state, store, queue, batching, catchUp, mirror, retry, emit } = this;
    return new Answers({ http, state, store, queue, batching, catchUp, mirror, retry, emit });
  }

  /** @returns {SessionEvents} */
  _makeSessionEvents() {
    const { identity, state, queue, outbox, reader, catchUp, epochChange, answers, emit } = this;
    return new SessionEvents({ writer: identity.writer, state, queue, outbox, reader, catchUp, epochChange, answers, emit });
  }

  /** @returns {SessionOpening} */
  _makeOpening() {
    const { identity, state, queue, outbox, retry, reader, responses, agentStates, emit } = this;
    return new SessionOpening({
      identity,
      state,
      queue,
      outbox,
      retry,
      drain: () => this.sender.drain(LEFTOVERS_MS),
      find: () => reader.find(),
      made: (entry) => this.reach.orAway(responses.answerTo(entry)),
      begun: () => {
        agentStates.forget();
        if (this.answers.shown?.state !== "waiting") this.answers.leave();
      },
      emit,
    });
  }

  /** @returns {Resume} */
  _makeResume() {
    const { identity, state, store, queue, outbox, sender, mirror, reader, retry, emit, log } = this;
    const othersMade = () => this.opening.othersMade();
    return new Resume({ identity, state, store, queue, outbox, sender, mirror, reader, retry, othersMade, emit, log });
  }

  /** The session `from` is never made. @param {Joined} joined */
  _joined(joined) {
    const shown = this.state.join(joined);
    this._carry(joined);
    if (!shown) return;
    // What it has is about to be cleared by this page.
    if (this.queue.clears) this._opened();
    else this.reader.joined();
  }

  /** What this page meant for a session that is never made. @param {Joined} joined */
  _carry(joined) {
    const { from, session } = joined;
    this.queue.join(joined);
    this.answers.join(from, session.id);
    return this._moved(from, session.id);
  }

  /** What is kept beside the messages. @param {string} from @param {string} to */
  _moved(from, to) {
    return Promise.all([this.drafts.join(from, to), this.agentStates.join(from, to)]);
  }

  /** The session exists now: pages with a key need a token for beacons. */
  _opened() {
    this.events.follow();
    this.answers.look();
    return this.flushToken.renew(this.state.id);
  }
}

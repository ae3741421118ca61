/** Creates the parts of one project's session and gives each what it needs. A part holds only its own state. */
import { Answers } from "./answers/answers.js";
import { Batching } from "./sending/batching.js";
import { Queue } from "./sending/queue.js";
import { Responses } from "./sending/responses.js";
import { Retry } from "./sending/retry.js";
import { Sender } from "./sending/sender.js";
import { AgentStates } from "./server/agent-states.js";
import { EventSocket } from "./server/event-socket.js";
import { FlushToken } from "./server/flush-token.js";
import { Adoption } from "./session/adoption.js";
import { CatchUp } from "./session/catch-up.js";
import { EpochChange } from "./session/epoch-change.js";
import { MessageStore } from "./session/message-store.js";
import { Mirror } from "./session/mirror.js";
import { OlderMessages } from "./session/older-messages.js";
import { Resume } from "./session/resume.js";
import { SessionEvents } from "./session/session-events.js";
import { SessionOpening } from "./session/session-opening.js";
import { SessionReader } from "./session/session-reader.js";
import { SessionState } from "./session/session-state.js";
import { BrowserStorage } from "./storage/browser-storage.js";
import { Drafts } from "./storage/drafts.js";
import { LocalStore } from "./storage/local-storage.js";
import { Outbox } from "./storage/outbox.js";
import { accountScope, uuid } from "./util.js";

/**
 * @import { PartsNeeds, ResponsesNeeds } from "./needs.d.ts"
 * @import { Http } from "./server/http.js"
 * @import { Identity, Met, Warn } from "./types.d.ts"
 */

export class SessionParts {
  /** @param {PartsNeeds} needs */
  constructor({ http, project, chat, client, emit, log, met }) {
    this.http = http;
    this.emit = emit;
    this.log = log;
    /** @type {Identity} */
    this.identity = { scope: scopeOf(http, project, chat), project, chat, client, writer: uuid() };
    this.state = new SessionState();
    this.store = new MessageStore();
    this.retry = new Retry(met);
    /** Retries until there is an answer; null if it is refused. @template T @param {() => Promise<T>} ask */
    this.patiently = (ask) =>
      this.retry.untilAnswered(ask, { refused: (error) => emit("refused", { ...error.refusal, operations: [] }) });
    this.flushToken = new FlushToken(http, log);
    const { scope } = this.identity;
    const local = new LocalStore(this._warning("localStorage"));
    this.storage = new BrowserStorage(scope, local, this._warning("indexedDB"));
    this.outbox = new Outbox(scope, local, this._warning("indexedDB"), () => this.sender.poke());
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
    this.sessionEvents = this._makeSessionEvents();
    this.responses = this._makeResponses();
    this.opening = this._makeOpening();
    this.sender = this._makeSender(met);
    this.resume = this._makeResume();
  }

  close() {
    const { retry, batching, queue, mirror, agentStates, catchUp, answers, sessionEvents, events, sender, outbox } = this;
    const parts = [retry, batching, queue, mirror, agentStates, catchUp, answers, sessionEvents, events, sender, outbox];
    for (const part of parts) part.close();
  }

  // Storage.

  /** Deferred, because a store may warn while it is created. @param {"localStorage" | "indexedDB"} where @returns {Warn} */
  _warning(where) {
    return (code, error) => queueMicrotask(() => this.emit("warning", { code, error, where }));
  }

  /** @returns {Drafts} */
  _makeDrafts() {
    const { storage, state, mirror, queue } = this;
    const shown = () => (state.session ?? mirror.read()?.session)?.id ?? "";
    return new Drafts(storage, shown, () => queue.onDisk());
  }

  /** @returns {Mirror} */
  _makeMirror() {
    const { identity, storage, state, store, queue, agentStates } = this;
    const openingStep = () => queue.openingStep;
    const unread = () => this.olderMessages.unread;
    return new Mirror({
      project: identity.project,
      storage,
      state,
      store,
      openingStep,
      agentState: () => agentStates.known,
      unread,
    });
  }

  // Sending.

  /** @returns {Queue} */
  _makeQueue() {
    const { identity, state, store, outbox } = this;
    return new Queue({
      identity,
      state,
      outbox,
      verOf: (id) => store.verOf(id),
      queued: (entry) => this.sender.expect(entry),
      drafted: () => this.sender.tell({ kind: "draft", writer: identity.writer }),
    });
  }

  /** @returns {Responses} */
  _makeResponses() {
    const { state, store, queue, reader, catchUp, epochChange, mirror, batching, emit, log } = this;
    const goOn = () => batching.goOn();
    const opened = () => void this._opened();
    /** @type {ResponsesNeeds["acknowledged"]} */
    const acknowledged = (asked, body) => this.answers.acknowledged(asked, body);
    const known = { state, store, queue, reader, catchUp, epochChange, mirror };
    return new Responses({ ...known, acknowledged, goOn, opened, emit, log });
  }

  /** @param {Met} met @returns {Sender} */
  _makeSender(met) {
    const { identity, http, outbox, responses, events } = this;
    return new Sender({
      scope: identity.scope,
      http,
      outbox,
      met,
      answered: (entry, status, body) => responses.take(entry, status, body),
      refused: (entry) => responses.refuse(entry),
      frame: (frame) => events.take(frame),
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
    return new AgentStates({
      http,
      writer: identity.writer,
      state,
      storage,
      retry,
      findOrCreate: () => this.opening.findOrCreate(),
      unmade: (session) => queue.unmade(session),
      learned: () => this.mirror.write(),
      emit,
    });
  }

  /** @returns {EventSocket} */
  _makeEvents() {
    return new EventSocket({
      http: this.http,
      project: this.identity.project,
      taken: (frame) => this.sessionEvents.take(frame),
      tell: (frame) => this.sender.tell({ kind: "frame", frame }),
      missed: () => this.sessionEvents.missed(),
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
    const { identity, outbox, state, store, queue, mirror, olderMessages, epochChange, batching } = this;
    const { writer } = identity;
    const goOn = () => batching.goOn();
    const opened = () => this._opened();
    return new Adoption({ writer, outbox, state, store, queue, mirror, olderMessages, epochChange, goOn, opened });
  }

  /** @returns {SessionReader} */
  _makeReader() {
    const { identity, http, state, store, queue, mirror, olderMessages, agentStates, adoption, epochChange, events, emit } = this;
    const { patiently } = this;
    const known = { identity, http, state, store, queue, mirror, olderMessages, agentStates };
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
    const { identity, state, queue, reader, catchUp, epochChange, answers, emit } = this;
    return new SessionEvents({ writer: identity.writer, state, queue, reader, catchUp, epochChange, answers, emit });
  }

  /** @returns {SessionOpening} */
  _makeOpening() {
    const { identity, state, queue, retry, reader, responses, agentStates, emit } = this;
    return new SessionOpening({
      identity,
      state,
      queue,
      retry,
      open: () => reader.open({ quiet: true }),
      answerTo: (entry) => responses.answerTo(entry),
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
    return new Resume({ identity, state, store, queue, outbox, sender, mirror, reader, retry, emit, log });
  }

  /** The session exists now: pages with a key need a token for beacons. */
  _opened() {
    this.events.follow();
    this.answers.look();
    return this.flushToken.renew(this.state.id);
  }
}

/**
 * Whose requests may be sent together: one server, account and project, or one chat of it.
 * @param {Http} http @param {string} project @param {string} [chat]
 */
function scopeOf(http, project, chat) {
  const account = http.auth.key ?? http.auth.user ?? "";
  const place = chat === undefined ? "" : `#${encodeURIComponent(chat)}`;
  return `${accountScope(http.base, account)}:${encodeURIComponent(project)}${place}`;
}

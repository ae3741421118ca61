/** What each part of a session needs from the others; `session-parts.js` provides it. */
import type { AgentState } from "../stillhere.js";
import type { Answers } from "./answers/answers.js";
import type { Batching } from "./sending/batching.js";
import type { Queue } from "./sending/queue.js";
import type { Said } from "./sending/requests.js";
import type { Retry } from "./sending/retry.js";
import type { Sender } from "./sending/sender.js";
import type { AgentStates } from "./server/agent-states.js";
import type { EventSocket } from "./server/event-socket.js";
import type { Http } from "./server/http.js";
import type { Adoption } from "./session/adoption.js";
import type { CatchUp } from "./session/catch-up.js";
import type { Adopted, EpochChange } from "./session/epoch-change.js";
import type { MessageStore } from "./session/message-store.js";
import type { Mirror } from "./session/mirror.js";
import type { OlderMessages } from "./session/older-messages.js";
import type { SessionReader } from "./session/session-reader.js";
import type { SessionState } from "./session/session-state.js";
import type { BrowserStorage } from "./storage/browser-storage.js";
import type { LocalStore } from "./storage/local-storage.js";
import type { Outbox } from "./storage/outbox.js";
import type {
  AnswerBody,
  Emit,
  Entry,
  EntryBody,
  Identity,
  Joined,
  Met,
  Refusal,
  Seen,
  SessionFrame,
  SessionView,
} from "./types.d.ts";

/** A subset of a part. Only the part itself writes its fields. */
type Part<Whole, Names extends keyof Whole> = Readonly<Pick<Whole, Names>>;

export interface AnswersNeeds {
  http: Part<Http, "get" | "request" | "open">;
  state: SessionView;
  store: Part<MessageStore, "list" | "tell" | "grow">;
  queue: Part<Queue, "ask" | "cancel">;
  batching: Part<Batching, "asked">;
  catchUp: Part<CatchUp, "run">;
  mirror: Part<Mirror, "writeSoon">;
  retry: Part<Retry, "met" | "pause" | "untilAnswered">;
  emit: Emit;
}

export interface BatchingNeeds {
  queue: Part<Queue, "unsent" | "present" | "operations" | "asks" | "keep" | "seal">;
  state: SessionView;
  /** Finds or creates a session. */
  findOrCreate: () => Promise<void>;
}

export interface QueueNeeds {
  identity: Identity;
  state: Part<SessionState, "session" | "id" | "nextId" | "baseRev" | "atStep" | "inherited">;
  outbox: Part<Outbox, "put" | "stash">;
  /** What a change to a message is based on. */
  seenOf: (id: string) => Seen;
  /** A request is stored and may be sent. */
  queued: (entry: Entry) => void;
  /** The draft exists from now on. */
  drafted: () => void;
}

export interface ResponsesNeeds {
  state: Part<
    SessionState,
    "session" | "baseRev" | "created" | "saved" | "startedOver" | "atHead" | "inheritedAnswer" | "told" | "isBehind"
  >;
  store: Part<MessageStore, "acknowledged" | "appended" | "refuse" | "saySiblings" | "remove" | "tombstones"> &
    Part<MessageStore, "messages" | "fromServer" | "reordered" | "tell">;
  queue: Part<Queue, "answered" | "refuse" | "newest" | "holds" | "add" | "waiting" | "operations">;
  reader: Part<SessionReader, "begun" | "again">;
  catchUp: Part<CatchUp, "run" | "reread">;
  epochChange: Part<EpochChange, "refused" | "answered">;
  mirror: Part<Mirror, "write">;
  /** A request for an answer of the server was answered. */
  acknowledged: (asked: EntryBody, body: AnswerBody, ours: boolean) => unknown;
  /** The page has a session that exists on the server. */
  opened: () => void;
  /** Sends what waited for an answer. */
  goOn: () => void;
  emit: Emit;
  log: (...words: unknown[]) => void;
}

export interface SenderNeeds {
  scope: string;
  http: Part<Http, "request">;
  outbox: Part<Outbox, "all" | "has" | "put" | "remove" | "inherit" | "join">;
  answered: (entry: Entry, status: number, body: AnswerBody | null) => void;
  refused: (entry: Entry & { refused: Refusal }) => void;
  /** The chat's session is another one than a page of this scope began. */
  joined: (joined: Joined) => void;
  /** Another tab received this event. */
  frame: (frame: SessionFrame) => void;
  /** Another tab receives the events after this one. */
  listens: (since: number) => void;
  met: Met;
  /** This tab sends from now on. */
  leads: () => Promise<void>;
}

export interface StatesNeeds {
  http: Part<Http, "get" | "request">;
  writer: string;
  state: SessionView;
  storage: Part<BrowserStorage, "keepState" | "keptStates">;
  retry: Part<Retry, "untilAnswered">;
  /** Finds or creates a session. */
  findOrCreate: () => Promise<void>;
  /** Is the request that creates this session still unanswered? */
  unmade: (session: string) => boolean;
  /** `known` changed. */
  learned: () => void;
  emit: Emit;
}

export interface SocketNeeds {
  http: Part<Http, "auth" | "request" | "socketUrl">;
  project: string;
  /** Takes an event that this tab or another one received. */
  taken: (frame: SessionFrame) => void;
  /** Notifies the other tabs. */
  tell: (frame: SessionFrame) => void;
  /** Tells the other tabs which event the next ones follow. */
  listens: (since: number) => void;
  /** The server said whose the key is. */
  belongs: (account: string) => void;
  /** Events were missed: there is no event to continue from. */
  missed: () => void;
}

export interface FormerKeysNeeds {
  http: Part<Http, "base" | "auth">;
  scope: string;
  local: Part<LocalStore, "get" | "set" | "remove" | "listed">;
  storage: Part<BrowserStorage, "draft" | "keep" | "keepDraft" | "keepState" | "listed">;
  outbox: Part<Outbox, "take" | "inherit">;
  /** The requests of another scope are in this one. */
  taken: () => unknown;
}

export interface AdoptionNeeds {
  chat: string | undefined;
  writer: string;
  state: Part<SessionState, "session" | "nextId" | "adopt" | "inherit" | "isNewer">;
  store: Part<MessageStore, "messages" | "list" | "reset" | "overlay" | "takeOut" | "grow" | "vers" | "sees">;
  queue: Part<Queue, "operations" | "waiting" | "seq" | "add" | "seal" | "moved" | "clears" | "epoch" | "epochIn" | "holds">;
  mirror: Part<Mirror, "read" | "write">;
  olderMessages: Part<OlderMessages, "begin">;
  epochChange: Part<EpochChange, "handOver">;
  /** Sends what was added to the queue. */
  goOn: () => void;
  /** The drafts and states of the session `from`, which is not made, belong to another one. */
  moved: (from: string, to: string) => Promise<unknown>;
  /** All that this page meant for the session `from`, which is not made, is for another one. */
  carry: (joined: Joined) => Promise<unknown>;
  /** The page has a session that exists on the server. */
  opened: () => Promise<void>;
}

export interface CatchUpNeeds {
  http: Part<Http, "get">;
  state: Part<SessionState, "session" | "baseRev" | "caughtUp" | "isCurrent" | "atHead">;
  store: Part<MessageStore, "messages" | "verOf" | "place" | "fromServer" | "remove" | "tell" | "reordered">;
  queue: Part<Queue, "clears" | "holds">;
  olderMessages: Part<OlderMessages, "leavesOut">;
  epochChange: Part<EpochChange, "found">;
  mirror: Part<Mirror, "write">;
  /** Retries until there is an answer; null if it is refused. */
  patiently: <T>(ask: () => Promise<T>) => Promise<T | null>;
  emit: Emit;
}

export interface EpochNeeds {
  state: SessionView & Part<SessionState, "inEpoch">;
  queue: Part<Queue, "present" | "seal" | "add">;
  store: Part<MessageStore, "grow" | "grown" | "tail" | "tell">;
  /** Reads the whole session; null if it is refused. */
  reread: () => Promise<Adopted | null>;
  /** Sends what was added to the queue. */
  goOn: () => void;
  emit: Emit;
}

export interface MirrorNeeds {
  project: string;
  storage: Part<BrowserStorage, "mirror" | "mirrored" | "forgetMirror" | "stashedStates">;
  state: SessionView;
  store: Part<MessageStore, "messages" | "list">;
  openingStep: () => string;
  /** Of the next request. */
  epoch: () => number;
  /** This page's unanswered requests, and the next one as it is now. */
  unanswered: () => Said[];
  /** The agent's state as the server has it. */
  agentState: () => AgentState | null;
  /** How many older messages are not loaded. */
  unread: () => number;
}

export interface OlderNeeds {
  http: Part<Http, "get">;
  state: SessionView;
  queue: Part<Queue, "epoch" | "holds">;
  store: Part<MessageStore, "messages" | "tombstones" | "fromServer" | "tell">;
}

export interface ResumeNeeds {
  identity: Identity;
  state: SessionView & Part<SessionState, "adopt" | "goOnWith">;
  store: Part<MessageStore, "messages" | "list" | "fromServer" | "peeked" | "sees">;
  queue: Part<Queue, "seal" | "moved">;
  outbox: Part<Outbox, "adopt" | "all" | "begun" | "stashed" | "withStashes">;
  sender: Part<Sender, "reconsider" | "drain">;
  mirror: Part<Mirror, "read" | "restored">;
  reader: Part<SessionReader, "bundle" | "shows" | "open" | "state" | "tellings" | "tell">;
  retry: Part<Retry, "met" | "pause" | "untilAnswered" | "closed">;
  /** Resolves when the sessions that earlier pages began are made, or cannot be made now. */
  othersMade: () => Promise<void>;
  emit: Emit;
  log: (...words: unknown[]) => void;
}

export interface EventsNeeds {
  writer: string;
  state: SessionView & Part<SessionState, "told">;
  queue: Part<Queue, "present">;
  outbox: Part<Outbox, "begun">;
  reader: Part<SessionReader, "begun" | "again">;
  catchUp: Part<CatchUp, "run">;
  epochChange: Part<EpochChange, "pushed">;
  answers: Part<Answers, "heard" | "leave">;
  emit: Emit;
}

export interface SilentNeeds {
  store: Part<MessageStore, "messages" | "held">;
  catchUp: Part<CatchUp, "reread">;
  answers: Part<Answers, "shown">;
}

export interface OpeningNeeds {
  identity: Identity;
  state: Part<SessionState, "session" | "begin">;
  queue: Part<Queue, "operations" | "newStep" | "create" | "enqueue">;
  outbox: Part<Outbox, "begun">;
  retry: Part<Retry, "untilAnswered" | "pause" | "closed">;
  /** Sends what earlier pages left; resolves with whether it is all sent. */
  drain: () => Promise<boolean>;
  /** Reads the project's current session and tells the page; resolves with whether there is one. */
  find: () => Promise<boolean>;
  /** Resolves when this request is answered, or when the server is away. */
  made: (entry: Entry) => Promise<unknown>;
  /** This page shows another session now. */
  begun: () => void;
  emit: Emit;
}

export interface ReaderNeeds {
  identity: Identity;
  http: Part<Http, "get">;
  state: SessionView & Part<SessionState, "isContinued">;
  store: Part<MessageStore, "messages" | "tell">;
  queue: Part<Queue, "unsent" | "openingStep">;
  outbox: Part<Outbox, "begun" | "all">;
  mirror: Part<Mirror, "forget">;
  olderMessages: Part<OlderMessages, "unread">;
  agentStates: Part<AgentStates, "adopt" | "shown">;
  adoption: Part<Adoption, "adopt">;
  epochChange: Part<EpochChange, "undone" | "tellUnsent">;
  events: Part<EventSocket, "follow">;
  /** Retries until there is an answer; null if it is refused. */
  patiently: <T>(ask: () => Promise<T>) => Promise<T | null>;
  emit: Emit;
}

export interface PartsNeeds {
  http: Http;
  project: string;
  chat: string | undefined;
  client: string;
  emit: Emit;
  log: (...words: unknown[]) => void;
  /** An attempt got a response (null) or an error. */
  met: Met;
}

/** Types that the parts of the module pass to each other. The public types are in `../stillhere.d.ts`. */
import type { AgentState, AgentStateFields, Events, Frame, Handoff, Operation, Session, StoredMessage } from "../stillhere.js";
import type { ApiError } from "./server/http.js";
import type { SessionState } from "./session/session-state.js";

/**
 * Who writes where. `scope`: one server, account and project, or one chat of it; `chat`: the frontend's id of the session; `writer`:
 * one page load; `client`: the frontend's name.
 */
export interface Identity {
  scope: string;
  project: string;
  chat: string | undefined;
  writer: string;
  client: string;
}

/** The session's state for those who only read it. */
export type SessionView = Readonly<Pick<SessionState, "session" | "id" | "nextId" | "baseRev" | "savedAt">>;

export interface Emit {
  <Type extends keyof Events>(type: Type, detail: Events[Type]): void;
  (type: string, frame: Frame): void;
}

/** `error`: why there was no answer; null: there was one. */
export type Met = (error: ApiError | null) => void;

export type Warn = (code: "storage_full" | "storage_blocked", error: unknown) => void;

export interface ErrorBody {
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

/** Why the server refuses something. */
export interface Refusal extends ErrorBody {
  status: number;
}

/** What the caller knew of a message: its version, or what another page had not sent yet. */
export interface Seen {
  if_ver?: number;
  if_write?: { writer_id: string; seq: number };
}

export interface SentOperation extends Operation, Seen {}

export interface EntryBody {
  project?: string;
  external_id?: string;
  opening_step?: string;
  epoch?: number;
  writer_id?: string;
  seq?: number;
  base_rev?: number;
  ops?: SentOperation[];
  of?: number;
  /** A request for an answer: the generation's id, and what is answered. */
  id?: string;
  question?: string;
  parent_id?: string;
  model?: string;
  instructions?: string;
}

/** A generation as the API returns it, in part. */
export interface GenerationBody {
  generation: string;
  session: string;
  message: string;
  stream: string | null;
  state: string;
  error?: string | null;
  ended_at: string | null;
}

export interface GenerationFrame extends Frame<{ generation: string; message: string; stream?: string; state: string }> {}

/** A request of the queue. Fields after `key` are known to the page that made it, `refused` and `draft` to all. */
export interface Entry {
  kind: "create" | "changes" | "clear" | "undo" | "ask";
  method: "POST" | "PUT";
  path: string;
  body: EntryBody;
  headers?: Record<string, string>;
  session: string;
  writer: string;
  seq: number;
  scope: string;
  /** Milliseconds, by this machine's clock. */
  at: number;
  /** Unique, and in the order of `seq`. */
  key: string;
  /** Rewritten while its page lives: nobody sends it before that page has ended. */
  draft?: boolean;
  refused?: Refusal;
  /** It is in IndexedDB. */
  kept?: boolean;
  /** A beacon carried the same operations. */
  covered?: boolean;
  /** It was made before a clear by somebody else, and is sent after it. */
  late?: boolean;
  done?: boolean;
}

/** The session `from` is never made, because the chat has `session` already: what was meant for it goes there. */
export interface Joined {
  from: string;
  session: Session;
}

/** What an answer says of a stored message. `text_omitted`: without its text, because the answer has many long ones. */
export type Told = StoredMessage & { text_omitted?: true };

export interface Conflict {
  id: string;
  server: Told | null;
  copy_id: string | null;
}

/** The answer to a save. */
export interface SaveAnswer {
  applied: { id: string; ver: number; removed?: boolean }[];
  ignored: { id: string; reason: string; server?: Told }[];
  conflicts: Conflict[];
  rejected?: Rejected[];
  rev: number;
  prev_rev: number;
  saved_at: string;
  head?: string | null;
  siblings?: Record<string, Siblings>;
}

export interface Rejected {
  index: number;
  message: string;
}

/** The answer to a clear and to its undo. */
export interface EpochAnswer {
  epoch: number;
  rev: number;
  saved_at: string;
}

/** An answer to a request of the queue, by its kind; `error` if a refusal loses nothing. */
export type AnswerBody = Partial<SaveAnswer & EpochAnswer> & {
  error?: { code: string; message?: string; details?: Record<string, unknown> };
};

/** `GET /resume` */
export interface Bundle extends FoundSession {
  agent_state: AgentState | null;
  ai_states: object[];
  handoff: Handoff | null;
  app_state: object | null;
  skipped: { id: string; reason: string }[];
  event_cursor: number;
}

/** `GET /sessions/{id}` */
export interface FoundSession {
  session: Session;
  /** The newest of those that are shown. */
  messages: StoredMessage[];
  /** Are there older ones? */
  more: boolean;
}

/** `GET /sessions/{id}/messages?since_rev=` */
export interface ChangesPage {
  items: StoredMessage[];
  removed: string[];
  rev: number;
  epoch: number;
  /** Absent if the session has no branches. */
  head?: string | null;
  more: boolean;
}

/** An event about a session, in part. */
export interface SessionFrame extends Frame<{ undone?: boolean }> {
  by?: { writer_id?: string };
}

/** Messages between the tabs of one scope. */
export type Broadcast =
  | { kind: "queued" }
  | { kind: "draft"; writer: string }
  | { kind: "answer"; entry: Entry; status: number; body: AnswerBody | null }
  | { kind: "refused"; entry: Entry }
  | { kind: "joined"; joined: Joined }
  | { kind: "met"; error: Refusal | null }
  | { kind: "listens"; since: number }
  | { kind: "frame"; frame: SessionFrame };

/** The copy of the server's session that `peek()` reads. */
export interface MirrorContent {
  session: Session;
  messages: StoredMessage[];
  savedAt: string | null;
  agentState: AgentState | null;
  /** How many messages are shown, with those that are not loaded. Absent in a mirror of an earlier version. */
  total?: number;
  /** The requests that said messages and were not answered yet, for changes by the next page. */
  writes?: Record<string, NonNullable<Seen["if_write"]>>;
}

/**
 * An agent state that the server has not acknowledged. `any`: there was no session, so it belongs to the one that is found; `rev`: of
 * the state before it; `sent`: what is on its way, and may be saved; `at`: when it was kept.
 */
export interface KeptState {
  session: string;
  any?: boolean;
  fields: AgentStateFields;
  replace: boolean;
  rev: number;
  sent?: AgentStateFields;
  at?: number;
}

export interface KeptDraft {
  text: string;
  at: number;
}

/** Types of stillhere.js. */
import type { AnswerCalls, AnswerEvents } from "./stillhere/answers/answer-types.js";
import type { StoredFile, UploadOptions } from "./stillhere/file-types.js";
import type { AsRun, Context, ErrorReport, ErrorsRecorded, Handoff, Memory } from "./stillhere/memory-types.js";

export type * from "./stillhere/answers/answer-types.js";
export type * from "./stillhere/file-types.js";
export type * from "./stillhere/memory-types.js";

export type Role = "user" | "assistant";
export type Status = "streaming" | "complete" | "interrupted";

/** What `save()` takes. The AI SDK's UIMessages fit; so do `{id, role, text}`. An id is never used twice. */
export interface Message {
  id: string;
  role: Role;
  text?: string;
  /** Saved as `text` if there is neither text nor parts, as in OpenAI's messages. */
  content?: string;
  parts?: object[];
  metadata?: unknown;
  format?: string;
  raw?: unknown;
  /**
   * The message that it follows; null: none. Left out: the newest. A new message with the parent of a known one stands beside it,
   * and what followed that parent is left out of the list, not removed.
   */
  parent_id?: string | null;
  /** Left out: `complete`, or `streaming` for the last answer while `streaming: true`. */
  status?: Status;
}

export interface StoredMessage extends Message {
  text: string;
  parts: object[];
  status: Status;
  /** Absent while the server has not confirmed the message. */
  ver?: number;
  rev?: number;
  created_at?: string;
  updated_at?: string;
  position?: number;
  /** Absent if it has none. */
  siblings?: Siblings;
  /** The server does not take it (event `refused`): it is in this page only. */
  refused?: true;
  /** Secrets found in it, by kind; absent if there are none. */
  flagged?: Record<string, number>;
}

/** The messages that follow the same one, itself included. `index` counts from 1; `previous` and `next` are ids. */
export interface Siblings {
  index: number;
  count: number;
  previous: string | null;
  next: string | null;
}

export interface Session {
  id: string;
  epoch: number;
  /** Of the store; it changes when a backup is restored. */
  incarnation?: number;
  rev: number;
  /** The last message of the path that is shown. Absent if the session has no branches. */
  head?: string | null;
  opening_step: string;
  title?: string;
  project_id?: string;
  /** Fields of your own. */
  metadata?: Record<string, unknown>;
  tags?: string[];
  /** Comes first in the project's list. */
  pinned?: boolean;
  /** Number of its messages on the server. */
  message_count?: number;
  updated_at?: string;
  [field: string]: unknown;
}

/** Steps, plan and pending action keep fields of your own. */
export interface PlanStep {
  id: string;
  title: string;
  status: "pending" | "in_progress" | "completed" | "failed" | "skipped";
}

export interface Plan {
  title?: string;
  steps?: PlanStep[];
}

export interface PendingAction {
  id: string;
  kind: string;
  payload?: unknown;
  /** RFC 3339. */
  expires_at?: string;
  resolution?: Resolution;
}

export interface Resolution {
  decision: "approve" | "reject";
  note?: string;
  by: string;
  at: string;
}

/** An agent's state besides the messages. */
export interface AgentState {
  context?: unknown;
  pr_data?: unknown;
  plan?: Plan;
  pending_action?: PendingAction;
  last_error?: unknown;
  /** Absent while the server has not confirmed it. */
  saved_at?: string;
  rev?: number;
}

/** Null removes a field. */
export type AgentStateFields = {
  [Field in "context" | "pr_data" | "plan" | "pending_action" | "last_error"]?: AgentState[Field] | null;
};

/** A frame of the server's events. */
export interface Frame<Data = unknown> {
  type: string;
  event_seq: number;
  project: string;
  session?: string;
  epoch?: number;
  rev?: number;
  data?: Data;
}

export interface State {
  project: string;
  session: Session | null;
  messages: StoredMessage[];
  /** How many messages the session has; `older()` reads those that are not in `messages`. */
  total: number;
  openingStep: string;
  /** RFC 3339; null if nothing was saved yet. */
  savedAt: string | null;
  /** True: from this browser's mirror, not yet confirmed by the server. */
  mirrored: boolean;
  skipped?: { id: string; reason: string }[];
  agentState?: AgentState | null;
  aiStates?: object[];
  handoff?: Handoff | null;
  appState?: object | null;
}

/**
 * The connection to the server. `connecting`: no response yet. `offline`: no response, or a server error; it is
 * retried automatically. `denied`: somebody has to act: a wrong or revoked key, a page that is signed out (401, 403), an origin
 * that the server does not list (`origin_denied`), or a `baseUrl` of another server (`not_stillhere`).
 */
export type ConnectionStatus = "connecting" | "online" | "offline" | "denied";

export interface Operation extends Partial<Message> {
  op: "upsert" | "patch" | "delete";
  id: string;
}

/** The server's frames are also emitted under their own types (`SESSION_SAVED`, `HANDOFF_CHANGED`, …); `*` receives all. */
export interface Events extends AnswerEvents {
  restored: State;
  saved: { savedAt: string; rev: number; session: string; applied: { id: string; ver: number }[] };
  /** Another page or agent changed the chat, or the server has another order: the whole present list. A hidden page gets it when it is shown, after an undone clear at once. */
  changed: { messages: StoredMessage[]; changed: string[]; removed: string[] };
  /** `other`: somebody else cleared the chat; `unsent` was sent too late: the server keeps it as conflict copies. */
  cleared: { by: "this" | "other"; unsent: Operation[]; messages: StoredMessage[] };
  /** The server keeps both texts: `server` in the chat, `ours` as the copy. `text_omitted`: `changed` follows with the text. */
  conflict: { id: string; server: (StoredMessage & { text_omitted?: true }) | null; ours?: Operation; copyId: string | null };
  /**
   * The server refused this, each once; kept until there is a handler. The queue waits for `retry()` or `discard()`; the texts are here.
   * `message` is for people; words of your own go by `code`.
   */
  refused: Refused;
  /**
   * `storage_full` or `storage_blocked`: this browser stores nothing (more) there; saving to the server continues. Without
   * `localStorage` a closing page may lose its last moment, and `peek()` finds nothing. Without `indexedDB` unacknowledged
   * changes exist in this page only. Each is emitted once.
   */
  warning: { code: "storage_full" | "storage_blocked"; where: "localStorage" | "indexedDB"; error: unknown };
  /** On every change; `error` says why it is not `online`. `denied` is also logged to the console. */
  status: { status: ConnectionStatus; error?: ApiError };
  offline: { error: ApiError };
  online: object;
  /** This page (`data`: the whole bundle) or another one resumed. */
  SESSION_RESTORED: Frame<object>;
  /** After it, if there is a plan; `data` is the plan if this page resumed. */
  PLAN_RESTORED: Frame<Plan>;
}

export interface Refused {
  status: number;
  code: string;
  message: string;
  details?: Record<string, unknown>;
  operations: object[];
  /** The agent's state, if that was refused. */
  state?: AgentStateFields;
  /** The request, if it was in the queue. */
  entry?: object;
}

export interface Options {
  /** The address of Stillhere; default: the page's own origin. */
  baseUrl?: string;
  /** The project's path, any name of up to 512 characters; or the id of one that exists. */
  project: string;
  /** Your own id of the chat, as its session's `external_id`. Left out: the project's current session. */
  chat?: string;
  /**
   * A key, or the login cookie (own origin only). `user`, any name of yours, keeps what several accounts store in one browser apart;
   * without it each key has a store of its own.
   */
  auth?: { key: string; user?: string } | { cookie: true; user?: string; csrf?: string };
  /** The frontend's name in the app state. */
  client?: string;
  /** Logs to the console what is attempted, saved and restored. */
  debug?: boolean;
}

/** Every refused call rejects with it (`status` 0: no response that the page can read). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  /** It ends by itself: no network, a server error, too many requests. */
  readonly passing: boolean;
  /** Somebody has to act. */
  readonly denied: boolean;
  /** `retryAfter` in seconds. */
  constructor(status: number, error: { code: string; message: string; details?: Record<string, unknown> }, retryAfter?: number);
}

export interface Connection extends AnswerCalls {
  readonly project: string;
  readonly session: Session | null;
  readonly openingStep: string;
  /** How many of the session's messages are not loaded: the oldest ones, see `older()`. */
  readonly unread: number;
  readonly status: ConnectionStatus;
  /** The project's memory. Its calls are not queued: a failed one rejects with an `ApiError`. */
  readonly memory: Memory;
  reportErrors(errors: readonly ErrorReport[], options?: AsRun): Promise<ErrorsRecorded>;
  /** The context of a new run, cut to the budget (in tokens); null if there is no project yet. */
  context(options?: { budget?: number }): Promise<Context | null>;
  peek(): State | null;
  /** No messages if nothing is saved; this browser's copy (`mirrored`) if the server does not respond. Rejects if access is denied. */
  resume(): Promise<State>;
  /** Reads up to `limit` (100) messages before the oldest loaded one; resolves with the whole list. */
  older(limit?: number): Promise<{ messages: StoredMessage[]; total: number; more: boolean }>;
  /** Shows the path to this message and on to the newest message of its branch, in all tabs. Resolves with the whole list. */
  moveHead(id: string): Promise<StoredMessage[]>;
  /** Stored on this browser's disk within 100 ms, a streaming answer within 250 ms; sent at once or when it is due. */
  save(messages: readonly Message[], options?: { streaming?: boolean; openingStep?: string }): void;
  flush(): boolean;
  /** Resolves with true once everything is acknowledged; with false after so long (10 s if left out), or if something was refused. */
  settled(milliseconds?: number): Promise<boolean>;
  /** Resolves once everything is stored on this browser's disk, or cannot be. */
  stored(): Promise<void>;
  /** Stores text that is typed and not sent on this browser's disk, one of each kind per session. "" removes it. `kind` left out: the message. */
  saveDraft(text: string, kind?: string): void;
  /** "" if there is none. */
  draft(kind?: string): Promise<string>;
  /** Uploads a file into the session (at most 25 MB). It is not queued: a failed upload rejects with an `ApiError`. */
  upload(file: Blob, options?: UploadOptions): Promise<StoredFile>;
  clear(): Promise<{ of: number; cleared: number } | null>;
  /** Null if there is nothing left to restore, or no session yet. */
  undoClear(of?: number): Promise<{ of: number; restored: number; renamed: { from: string; to: string }[] } | null>;
  newSession(options?: { openingStep?: string }): Promise<State>;
  switchProject(project: string): Promise<State>;
  state(): Promise<AgentState | null>;
  saveState(fields: AgentStateFields, options?: { replace?: boolean }): Promise<AgentState | null>;
  /** `action` left out: the present one. `late`: somebody answered before, or it had expired. `seen`: as it was read; see browser.md. */
  resolveAction(
    decision: "approve" | "reject",
    options?: { action?: string; note?: string; seen?: Pick<PendingAction, "kind" | "payload"> },
  ): Promise<PendingAction & { status: "resolved" | "expired"; late?: true }>;
  handoff(): Promise<Handoff | null>;
  on<Type extends keyof Events>(type: Type, handler: (detail: Events[Type], type: string) => void): () => void;
  on(type: "*", handler: (detail: unknown, type: string) => void): () => void;
  /** The server's own frames, by their type. */
  on<Data>(type: Uppercase<string>, handler: (frame: Frame<Data>, type: string) => void): () => void;
  /** Sends refused requests again. */
  retry(): Promise<void>;
  /** Discards refused requests. */
  discard(): Promise<void>;
  close(): void;
}

export function connect(options: Options): Connection;

/** A random UUID, also where the page is not served over HTTPS. */
export function uuid(): string;

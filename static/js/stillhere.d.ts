/** Types of stillhere.js. */

export type Role = "user" | "assistant";
export type Status = "streaming" | "complete" | "interrupted";

/** What `save()` takes. The AI SDK's UIMessages fit; so do `{id, role, text}`. An id is never used twice. */
export interface Message {
  id: string;
  role: Role;
  text?: string;
  /** Saved as `text` where there is neither text nor parts, as OpenAI's messages have it. */
  content?: string;
  parts?: object[];
  metadata?: unknown;
  format?: string;
  raw?: unknown;
  parent_id?: string;
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
  /** Secrets that were found in it, by kind; absent where none were. */
  flagged?: Record<string, number>;
}

export interface Session {
  id: string;
  epoch: number;
  /** Of the store; another one after a restored backup. */
  incarnation?: number;
  rev: number;
  opening_step: string;
  title?: string;
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

/** What an agent holds besides the messages. */
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

/** Null takes a field out. */
export type AgentStateFields = { [Field in "context" | "pr_data" | "plan" | "pending_action" | "last_error"]?: AgentState[Field] | null };

export interface HandoffContent {
  decisions: { id: string; text: string; rationale?: string; rejected?: string | string[] }[];
  files: { id: string; path: string; note?: string }[];
  risks: { id: string; text: string }[];
  summary: string;
}

export interface Handoff {
  live: HandoffContent & { rev: number; updated_at: string; frozen_at: string | null };
  /** The newest snapshot; `derived` from live where there is none, but decisions are. */
  frozen: { number: number; sha256: string; payload: HandoffContent } | { derived: true; payload: HandoffContent } | null;
}

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
  openingStep: string;
  /** RFC 3339; null where nothing was saved yet. */
  savedAt: string | null;
  /** True: from this browser's mirror, the server did not say so yet. */
  mirrored: boolean;
  skipped?: { id: string; reason: string }[];
  agentState?: AgentState | null;
  aiStates?: object[];
  handoff?: Handoff | null;
  appState?: object | null;
}

/**
 * How a page stands with the server. `connecting`: nothing was answered yet. `offline`: no answer, or the server's trouble; it
 * goes on by itself. `denied`: somebody has to act, be it a wrong or revoked key, a page that is signed out (401, 403), an origin
 * that the server does not list (`origin_denied`), or a `baseUrl` where something else answers (`not_stillhere`).
 */
export type ConnectionStatus = "connecting" | "online" | "offline" | "denied";

export interface Operation extends Partial<Message> {
  op: "upsert" | "delete";
  id: string;
}

/** The server's frames come under their own types too (`SESSION_SAVED`, `HANDOFF_CHANGED`, …); `*` hears everything. */
export interface Events {
  restored: State;
  saved: { savedAt: string; rev: number; session: string; applied: { id: string; ver: number }[] };
  /** Another page or agent changed the chat: the whole list as it is now. A hidden page hears of it once it is shown, of an undone clear at once. */
  changed: { messages: StoredMessage[]; changed: string[]; removed: string[] };
  /** `other`: somebody else started the chat over; `unsent` is what this page could not save any more. */
  cleared: { by: "this" | "other"; unsent: Operation[]; messages: StoredMessage[] };
  /** Both texts are kept by the server: `server` stands, `ours` is the copy. */
  conflict: { id: string; server: StoredMessage | null; ours?: Operation; copyId: string | null };
  /** The server will not take this. The queue waits for `retry()` or `discard()`; the words are here. */
  refused: { status: number; code: string; message: string; operations: object[]; state?: AgentStateFields };
  /** `storage_full`: this browser keeps nothing more; saving to the server goes on. */
  warning: { code: string; error: unknown };
  /** With every change; `error` says why it is not `online`. What is `denied` also stands in the console. */
  status: { status: ConnectionStatus; error?: ApiError };
  offline: { error: ApiError };
  online: object;
  /** This page (`data`: the whole bundle) or another one resumed. */
  SESSION_RESTORED: Frame<object>;
  /** After it, where there is a plan; `data` is the plan if this page resumed. */
  PLAN_RESTORED: Frame<Plan>;
}

export interface Options {
  /** Where Stillhere is; left out: the page's own origin. */
  baseUrl?: string;
  /** The project's path: any name of up to 512 characters. */
  project: string;
  /** A key, or the login cookie (own origin only). `user` keeps the mirrors of several accounts in one browser apart. */
  auth?: { key: string } | { cookie: true; user?: string; csrf?: string };
  /** The frontend's name in the app state. */
  client?: string;
  /** Says in the console what is attempted, saved and restored. */
  debug?: boolean;
}

/** What every call rejects with that the server refused (`status` 0: no answer came that a page may read). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
}

export interface MemoryEntry<Value = unknown> {
  namespace: string;
  key: string;
  value: Value;
  rev: number;
  size_bytes: number;
  updated_at: string;
  /** For `ifMatch`: save only where nobody else has saved since. */
  etag: string;
}

/** Kinds of secrets that were taken out before storing, with how many. */
export type Redacted = Record<string, number>;

/** `run`: the agent's run that holds the project's lease; while one is held, others are refused (423). */
export interface AsRun {
  run?: string;
}

export interface Compare extends AsRun {
  /** Only where what is stored has this `etag` (else 412); null: only where there is nothing. */
  ifMatch?: string | null;
}

export interface Memory {
  /** Null where there is none. */
  get<Value = unknown>(namespace: string, key: string): Promise<MemoryEntry<Value> | null>;
  set<Value>(namespace: string, key: string, value: Value, options?: Compare): Promise<MemoryEntry<Value> & { redacted: Redacted }>;
  /** Resolves with whether there was something to delete. */
  delete(namespace: string, key: string, options?: Compare): Promise<boolean>;
  list(): Promise<{ namespace: string; count: number; size_bytes: number }[]>;
  list(namespace: string, options?: { prefix?: string }): Promise<{ key: string; rev: number; size_bytes: number; updated_at: string }[]>;
}

export interface ErrorReport {
  message: string;
  kind?: string;
  stack?: string | { file?: string; function?: string; line?: number }[];
  /** RFC 3339; left out: now. */
  at?: string;
}

/** `fingerprints`: one an error, null where a noise rule kept it out. */
export interface ErrorsRecorded {
  recorded: number;
  filtered: number;
  new: number;
  reopened: number;
  fingerprints: (string | null)[];
  redacted: Redacted;
}

export interface KnownError {
  fingerprint: string;
  kind: string;
  message: string;
  first_seen: string;
  last_seen: string;
  count: number;
}

/** `omitted`: what the budget left out of a section, and where to read it. */
export interface Context {
  project: { id: string; path: string; name: string; created_at: string; last_session_at: string | null };
  session_count: number;
  baselines: { count: number; names: string[] };
  api_schema: { endpoint_count: number; updated_at: string | null };
  noise: { total: number; auto: number; manual: number; filtered: number };
  errors: { unresolved: KnownError[]; resolved: (KnownError & { resolved_at: string; known_fix: string })[] };
  performance: { endpoints: number; degraded: { endpoint: string; run: number; p95_ms: number; earlier_p95_ms: number }[] };
  handoff: object | null;
  session: object | null;
  ai_states: object[];
  omitted: { section: string; count: number; href: string }[];
  skipped: { namespace: string; key: string }[];
}

export interface Connection {
  readonly project: string;
  readonly session: Session | null;
  readonly openingStep: string;
  readonly status: ConnectionStatus;
  /** The project's memory. Its calls are not queued: what fails rejects with an `ApiError`. */
  readonly memory: Memory;
  reportErrors(errors: readonly ErrorReport[], options?: AsRun): Promise<ErrorsRecorded>;
  /** What a new run should know, cut to the budget (in tokens); null where there is no project yet. */
  context(options?: { budget?: number }): Promise<Context | null>;
  peek(): State | null;
  /** No messages where nothing is saved; what this browser has (`mirrored`) where the server is away. Rejects where it denies. */
  resume(): Promise<State>;
  save(messages: readonly Message[], options?: { streaming?: boolean; openingStep?: string }): void;
  flush(): boolean;
  settled(milliseconds?: number): Promise<boolean>;
  clear(): Promise<{ of: number; cleared: number } | null>;
  /** Null where there is nothing to bring back any more. */
  undoClear(of?: number): Promise<{ of: number; restored: number; renamed: { from: string; to: string }[] } | null>;
  newSession(options?: { openingStep?: string }): Promise<State>;
  switchProject(project: string): Promise<State>;
  state(): Promise<AgentState | null>;
  saveState(fields: AgentStateFields, options?: { replace?: boolean }): Promise<AgentState | null>;
  /** `action` left out: the present one. `late`: somebody answered before, or its time was over. */
  resolveAction(
    decision: "approve" | "reject",
    options?: { action?: string; note?: string },
  ): Promise<PendingAction & { status: "resolved" | "expired"; late?: true }>;
  handoff(): Promise<Handoff | null>;
  on<Type extends keyof Events>(type: Type, handler: (detail: Events[Type], type: string) => void): () => void;
  on(type: string, handler: (detail: any, type: string) => void): () => void;
  /** What was refused goes again. */
  retry(): Promise<void>;
  /** What was refused is given up. */
  discard(): Promise<void>;
  close(): void;
}

export function connect(options: Options): Connection;

/** A random UUID, also where the page is not served over HTTPS. */
export function uuid(): string;

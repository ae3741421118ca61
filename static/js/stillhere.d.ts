/** Types of stillhere.js. */

export type Role = "user" | "assistant";
export type Status = "streaming" | "complete" | "interrupted";

/** What `save()` takes. The AI SDK's UIMessages fit; so do `{id, role, text}`. An id is never used twice. */
export interface Message {
  id: string;
  role: Role;
  text?: string;
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
}

export interface Session {
  id: string;
  epoch: number;
  rev: number;
  opening_step: string;
  title?: string;
  [field: string]: unknown;
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
  agentState?: object | null;
  aiStates?: object[];
  handoff?: object | null;
  appState?: object | null;
}

export interface Operation extends Partial<Message> {
  op: "upsert" | "delete";
  id: string;
}

/** The server's frames come under their own types too (`SESSION_SAVED`, `HANDOFF_CHANGED`, …); `*` hears everything. */
export interface Events {
  restored: State;
  saved: { savedAt: string; rev: number; session: string; applied: { id: string; ver: number }[] };
  /** Another page or agent changed the chat: the whole list as it is now. */
  changed: { messages: StoredMessage[]; changed: string[]; removed: string[] };
  /** `other`: somebody else started the chat over; `unsent` is what this page could not save any more. */
  cleared: { by: "this" | "other"; unsent: Operation[]; messages: StoredMessage[] };
  /** Both texts are kept by the server: `server` stands, `ours` is the copy. */
  conflict: { id: string; server: StoredMessage | null; ours?: Operation; copyId: string | null };
  /** The server will not take this. The queue waits for `retry()` or `discard()`; the words are here. */
  refused: { status: number; code: string; message: string; operations: object[] };
  /** `storage_full`: this browser keeps nothing more; saving to the server goes on. */
  warning: { code: string; error: unknown };
  offline: { error?: Error };
  online: object;
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

export interface Connection {
  readonly project: string;
  readonly session: Session | null;
  readonly openingStep: string;
  peek(): State | null;
  resume(): Promise<State>;
  save(messages: readonly Message[], options?: { streaming?: boolean; openingStep?: string }): void;
  flush(): boolean;
  settled(milliseconds?: number): Promise<boolean>;
  clear(): Promise<{ of: number; cleared: number } | null>;
  undoClear(of?: number): Promise<{ of: number; restored: number; renamed: { from: string; to: string }[] } | null>;
  newSession(options?: { openingStep?: string }): Promise<State>;
  switchProject(project: string): Promise<State>;
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

/** Types of client.js. */
import type { AgentState, Handoff, Message, Session, StoredMessage } from "#browser";

export { ApiError, uuid } from "#browser";

export interface ClientOptions {
  /** The address of Stillhere, with or without `/api/v1`; left out: STILLHERE_URL. */
  url?: string;
  /** An API key; left out: STILLHERE_KEY. */
  key?: string;
  /** The project's path, or the id of one that exists; left out: STILLHERE_PROJECT. */
  project?: string;
}

export interface SessionFields {
  title?: string;
  metadata?: Record<string, unknown>;
  tags?: string[];
  /** False: the project's current session stays the one that resumes. */
  current?: boolean;
}

/** A message to save: without an id it gets one. With `format` any role of that format. */
export type NewMessage = Omit<Message, "id" | "role"> & { id?: string; role?: string };

/** The answer to one request of a save. `rejected` and `conflicts` are not errors: look at them. */
export interface Saved {
  rev: number;
  saved_at: string;
  applied: { id: string; ver: number }[];
  ignored: { id: string; reason: string }[];
  conflicts: { id: string; copy_id: string | null }[];
  rejected: Rejected[];
}

/** An operation that was not stored. */
export interface Rejected {
  /** Null if it has none that could be read. */
  id: string | null;
  /** Its number in its request. */
  index: number;
  /** A code, for example `unknown_field` or `text_too_long`. */
  reason: string;
  /** What is wrong, in a sentence. */
  message: string;
  field?: string;
}

/** A project's current session, to continue from. The names are those of the API: `GET /api/v1/resume`. */
export interface Resumed {
  project: { id: string; path: string; name: string; current_session: string | null; [field: string]: unknown };
  session: Session;
  /** The newest ones; with `as` the objects of that framework. */
  messages: unknown[];
  /** There are older ones. */
  more: boolean;
  /** Rows that are damaged and left out. */
  skipped: { id: string; reason: string }[];
  agent_state: AgentState | null;
  ai_states: object[];
  handoff: Handoff | null;
  app_state: object | null;
  /** The number of the project's newest event. */
  event_cursor: number;
}

/** How a stream ended: as its producer said, or, if that was silent for too long, `interrupted`. */
export type StreamEnd = "complete" | "interrupted";

/**
 * Each request is sent again, unchanged, until it is answered, for up to 30 seconds; nothing is done twice. Then, and for refusals
 * at once, it rejects with an `ApiError`. After two seconds a warning in the console says why it waits.
 */
export class Client {
  constructor(options?: ClientOptions);
  readonly project: string;
  openSession(externalId: string, fields?: SessionFields): Promise<Session>;
  findSession(externalId: string): Promise<Session | null>;
  /** In requests of up to 500 messages and 4 MB; `rejected` has indexes in its own. */
  save(session: string, messages: readonly NewMessage[]): Promise<Saved[]>;
  messages(session: string): Promise<StoredMessage[]>;
  /** Of each message only these fields, and its id: less is read and sent. */
  messages<Field extends "id" | "role" | "text" | "parts" | "metadata" | "format" | "raw">(
    session: string,
    options: { fields: readonly Field[] },
  ): Promise<Pick<StoredMessage, Field | "id">[]>;
  /** `as`: the objects of a framework, for example `ai-sdk`. `repair`: calls of tools without an output get one. */
  messages<Item = unknown>(session: string, options: { as: string; repair?: boolean }): Promise<Item[]>;
  /** Null if nothing is saved. */
  resume(options?: { as?: string }): Promise<Resumed | null>;
  openStream(session: string, message: string): Promise<StreamWriter>;
  /**
   * Continues where a broken connection ended. The generator returns how the stream ended, and `onEnd` is called with it; neither
   * happens after an abort of `signal`.
   */
  readStream(
    stream: string,
    options?: { offset?: number; signal?: AbortSignal; onEnd?: (state: StreamEnd) => void },
  ): AsyncGenerator<unknown, StreamEnd | undefined>;
}

export interface StreamWriter {
  readonly id: string;
  /** Number of the next chunk. */
  readonly offset: number;
  /** After a refusal the next one goes on; those that waited behind a refused one are refused with it. */
  append(chunks: readonly unknown[]): Promise<void>;
  end(how?: { interrupted?: boolean }): Promise<void>;
}

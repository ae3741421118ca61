/** Types of a project's memory, its errors, and the context of a new run. */

export interface MemoryEntry<Value = unknown> {
  namespace: string | string[];
  key: string;
  value: Value;
  rev: number;
  size_bytes: number;
  updated_at: string;
  /** For `ifMatch`: save only if nobody else has saved since. */
  etag: string;
}

export interface MemoryNamespace {
  namespace: string | string[];
  count: number;
  size_bytes: number;
}

export interface MemoryKey {
  key: string;
  rev: number;
  size_bytes: number;
  updated_at: string;
}

/** Secrets that were removed before storing: kinds and counts. */
export type Redacted = Record<string, number>;

/** `run`: the agent's run that holds the project's lease; while one is held, others are refused (423). */
export interface AsRun {
  run?: string;
}

export interface Compare extends AsRun {
  /** Only if the stored entry has this `etag` (else 412); null: only if there is none. */
  ifMatch?: string | null;
}

export interface Memory {
  /** Null if there is none. */
  get<Value = unknown>(namespace: string, key: string): Promise<MemoryEntry<Value> | null>;
  set<Value>(
    namespace: string,
    key: string,
    value: Value,
    options?: Compare,
  ): Promise<MemoryEntry<Value> & { redacted: Redacted }>;
  /** Resolves with whether there was an entry to delete. */
  delete(namespace: string, key: string, options?: Compare): Promise<boolean>;
  list(): Promise<MemoryNamespace[]>;
  list(namespace: string, options?: { prefix?: string }): Promise<MemoryKey[]>;
}

export interface ErrorReport {
  message: string;
  kind?: string;
  /** `own`: whether a frame is code of the project; left out: by its path. */
  stack?: string | { file?: string; function?: string; line?: number; own?: boolean }[];
  /** RFC 3339; left out: now. */
  at?: string;
  /** The session in which it arose, and the message: the error's page links to them. */
  session?: string;
  message_id?: string;
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

export interface HandoffContent {
  decisions: { id: string; text: string; rationale?: string; rejected?: string | string[] }[];
  files: { id: string; path: string; note?: string }[];
  risks: { id: string; text: string }[];
  summary: string;
}

export interface Handoff {
  live: HandoffContent & { rev: number; updated_at: string; frozen_at: string | null };
  /** The newest snapshot; `derived` from live if there is none, but decisions exist. */
  frozen: { number: number; sha256: string; payload: HandoffContent } | { derived: true; payload: HandoffContent } | null;
}

/** Types of index.js. */
import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from "@anthropic-ai/claude-agent-sdk";

/** The server has not taken everything that was appended, or neither it nor the disk takes anything. */
export class SpoolError extends Error {}

export interface StoreOptions {
  /** The address of Stillhere; left out: STILLHERE_URL. */
  url?: string;
  /** An API key; left out: STILLHERE_KEY. */
  key?: string;
  /** The project's path, or the id of one that exists; left out: STILLHERE_PROJECT. */
  project?: string;
  /** A folder of its own for entries that the server does not have yet; left out: one for the user. */
  spool?: string;
}

/**
 * Each transcript is a session of the project, those of subagents are sessions of their own. `append` resolves when the entries
 * are on the disk; they are sent in the background, or by the next process with the same folder. Reads wait up to 30 seconds for
 * what was appended here before. They reject with a `SpoolError` then, or at once if the server refuses the key (`cause`: why it
 * took nothing), or with an `ApiError`. A delete erases for good. `console.warn` names a key that is refused, entries that the server
 * refused, a session in the trash, and one at which the server fails: that waits alone.
 */
export class StillhereSessionStore implements SessionStore {
  constructor(options?: StoreOptions);
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]>;
  delete(key: SessionKey): Promise<void>;
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
  /** Files of the folder with what the server refused; nobody sends them again. */
  refused(): Promise<string[]>;
  /** Sends what waits, for up to so many milliseconds (5000). Resolves to whether the server has everything; the rest stays on the disk. */
  close(milliseconds?: number): Promise<boolean>;
}

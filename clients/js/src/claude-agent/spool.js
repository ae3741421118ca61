/** What the server does not have yet, in files of a folder: one for each batch, sent in the order of their names. */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ApiError, backoff } from "#module/server/http.js";

/** @typedef {{key: string, name: string, opening: object, ops: object[]}} Batch `name`: the session's external id */

// Until somebody mends the key. Other refusals do not pass by waiting.
const KEY_REFUSED = new Set([401, 403]);
// While somebody waits for it, the server is asked as often.
const LONGEST_AWAITED_MS = 1000;
const MOST_NAMED = 10;
const REFUSED_FOLDER = "refused";
// The last part is the scope's. Files of earlier versions have none.
const BATCH_FILE = /^\d+-\d+-\d+(?:-([0-9a-f]+))?\.json$/;

/** @param {unknown} error @returns {error is ApiError} the server will never store this, as it is */
export const isRefusal = (error) => error instanceof ApiError && !error.passing && !refusesKey(error);

/** @param {unknown} error */
const refusesKey = (error) => error instanceof ApiError && KEY_REFUSED.has(error.status);

/** @param {string} text */
export const warn = (text) => console.warn(`[Stillhere] ${text}`);

/** The server has not taken everything that was appended, or neither it nor the disk takes anything. */
export class SpoolError extends Error {
  /** @param {string} message @param {unknown} [cause] */
  constructor(message, cause) {
    super(message, { cause });
    this.name = "SpoolError";
  }
}

export class Spool {
  /**
   * @param {string} folder @param {string} scope the server and project whose batches these are: others may share the folder
   * @param {(batch: Batch) => Promise<void>} send repeatable
   */
  constructor(folder, scope, send) {
    this.folder = folder;
    this.scope = createHash("sha256").update(scope).digest("hex").slice(0, 16);
    this.send = send;
    /** Names of files. @type {string[]} */
    this.waiting = [];
    this.counter = 0;
    this.lastAt = 0;
    this.closed = false;
    /** Why the last attempt failed. @type {unknown} */
    this.error = undefined;
    /** How many attempts were begun, and which of them was the last that failed. */
    this.attempt = 0;
    this.failed = 0;
    this.hasWarned = false;
    /** Ends the pause before the next attempt. */
    this.wake = () => {};
    /** @type {Promise<void> | undefined} */
    this.sending = undefined;
    /** One file after the other, so that their names have the order of the calls. @type {Promise<unknown>} */
    this.writing = this._begin().catch(() => {});
    /** Of those who wait: called after each attempt. @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** Resolves when the batch is on the disk. @param {Batch} batch */
  async add(batch) {
    const written = this.writing.then(() => this._write(batch));
    this.writing = written.catch(() => {});
    this.waiting.push(await written);
    this._sendAll();
  }

  /**
   * Whether the server has everything that was appended before, at the latest after so many milliseconds; at once if it refuses the key.
   * @param {number} milliseconds
   */
  async flush(milliseconds) {
    await this.writing;
    const last = this.waiting.at(-1);
    if (last === undefined || this.closed) return last === undefined;
    // What the present attempt is told may be outdated.
    const { attempt } = this;
    this.wake();
    this._sendAll();
    return new Promise((resolve) => {
      const attempted = () => {
        if (!this.waiting.includes(last)) end(true);
        else if (this.failed > attempt && refusesKey(this.error)) end(false);
      };
      const end = (/** @type {boolean} */ all) => {
        clearTimeout(timer);
        this.listeners.delete(attempted);
        resolve(all);
      };
      const timer = setTimeout(() => end(false), milliseconds);
      this.listeners.add(attempted);
    });
  }

  /** Names of files with what the server refused. */
  async refused() {
    return this._own(await readdir(join(this.folder, REFUSED_FOLDER)));
  }

  /** Keeps what was refused, and says so. @param {Batch} batch @param {string} why @param {string} [name] */
  async keepRefused(batch, why, name = this._newName()) {
    const file = join(this.folder, REFUSED_FOLDER, name);
    await this._store(file, { ...batch, why });
    const ids = batch.ops.map((op) => /** @type {{id?: string}} */ (op).id);
    const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
    warn(`Entries of ${batch.name} are not stored, they are in ${file}: ${why} (${ids.slice(0, MOST_NAMED).join(", ")}${more})`);
  }

  /** Nothing is sent any more. */
  close() {
    this.closed = true;
    this.wake();
  }

  async _begin() {
    await mkdir(join(this.folder, REFUSED_FOLDER), { recursive: true, mode: 0o700 });
    const found = this._own(await readdir(this.folder));
    // The clock may have been set back since: new files come after those that wait.
    if (found.length > 0) this.lastAt = Number.parseInt(found[found.length - 1], 10) + 1;
    this.waiting.unshift(...found);
    this._sendAll();
  }

  /** @param {string[]} names */
  _own(names) {
    return names
      .filter((name) => {
        const parts = BATCH_FILE.exec(name);
        return parts !== null && (parts[1] ?? this.scope) === this.scope;
      })
      .sort();
  }

  /** @param {Batch} batch */
  async _write(batch) {
    const name = this._newName();
    await this._store(join(this.folder, name), batch);
    return name;
  }

  /** Whole or not at all, and on the disk. @param {string} file @param {Batch & {why?: string}} batch */
  async _store(file, batch) {
    const begun = `${file}.${randomUUID()}.tmp`;
    try {
      const handle = await open(begun, "wx", 0o600);
      try {
        await handle.writeFile(JSON.stringify(batch));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(begun, file);
    } catch (error) {
      await rm(begun, { force: true }).catch(() => {});
      throw error;
    }
    const folder = await open(this.folder, "r");
    await folder.sync().finally(() => folder.close());
  }

  _newName() {
    this.lastAt = Math.max(this.lastAt, Date.now());
    this.counter += 1;
    return `${this.lastAt}-${String(this.counter).padStart(9, "0")}-${process.pid}-${this.scope}.json`;
  }

  _sendAll() {
    if (this.closed || this.waiting.length === 0) return;
    this.sending ??= this._run().finally(() => {
      this.sending = undefined;
      // A batch that came in the last moment.
      if (this.waiting.length > 0 && this.error === undefined) this._sendAll();
    });
  }

  async _run() {
    for (let failures = 0; !this.closed && this.waiting.length > 0; ) {
      this.attempt += 1;
      try {
        await this._sendFile(this.waiting[0]);
        this.waiting.shift();
        failures = 0;
        this.error = undefined;
        this.hasWarned = false;
      } catch (error) {
        failures += 1;
        this._note(error);
      }
      for (const listener of [...this.listeners]) listener();
      if (this.error !== undefined && !this.closed) await this._pause(failures);
    }
  }

  /** @param {unknown} error */
  _note(error) {
    this.error = error;
    this.failed = this.attempt;
    if (!refusesKey(error) || this.hasWarned) return;
    this.hasWarned = true;
    warn(`The server refuses the key: ${messageOf(error)} What is appended waits in ${this.folder}.`);
  }

  /** @param {number} failures */
  async _pause(failures) {
    const asked = this.error instanceof ApiError ? this.error.retryAfter : 0;
    const longest = this.listeners.size > 0 ? LONGEST_AWAITED_MS : Number.POSITIVE_INFINITY;
    const wait = Math.max(asked * 1000, Math.min(backoff(failures), longest));
    await new Promise((resolve) => {
      // What the server asks for is not cut short. The program may end meanwhile.
      if (asked === 0) this.wake = () => resolve(undefined);
      setTimeout(resolve, wait).unref();
    });
    this.wake = () => {};
  }

  /** @param {string} name */
  async _sendFile(name) {
    const file = join(this.folder, name);
    let batch;
    try {
      batch = batchIn(await readFile(file, "utf8"));
      if (batch === null) {
        const aside = join(this.folder, REFUSED_FOLDER, name);
        await rename(file, aside);
        warn(`A file of entries that wait is damaged. It is set aside, and not stored: ${aside}`);
      }
    } catch (error) {
      // Another process with this folder sent it.
      if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return;
      throw error;
    }
    if (batch === null) return;
    try {
      await this.send(batch);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.keepRefused(batch, error.message, name);
    }
    await rm(file, { force: true });
  }
}

/** @param {string} text @returns {Batch | null} null: the file is damaged */
function batchIn(text) {
  try {
    const batch = JSON.parse(text);
    const isWhole = typeof batch.key === "string" && typeof batch.name === "string" && Array.isArray(batch.ops);
    return isWhole ? batch : null;
  } catch {
    return null;
  }
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** What the server does not have yet, in files of a folder: one for each batch, sent in the order of their names. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ApiError, backoff } from "#module/server/http.js";
import { batchIn, store } from "./batch-files.js";
import { Held, isFailure } from "./held.js";

/** @import { Batch } from "./batch-files.js" */

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
   * @param {() => Promise<unknown>} ask rejects if the server takes nothing at all
   */
  constructor(folder, scope, send, ask) {
    this.folder = folder;
    this.scope = createHash("sha256").update(scope).digest("hex").slice(0, 16);
    this.send = send;
    this.ask = ask;
    /** Names of files. @type {string[]} */
    this.waiting = [];
    /** Of which session each is, by its file's name, if that was read already. @type {Map<string, string>} */
    this.sessions = new Map();
    this.held = new Held();
    this.counter = 0;
    this.lastAt = 0;
    this.closed = false;
    /** Why the last attempt failed. @type {unknown} */
    this.error = undefined;
    /** How many attempts were begun, and which of them was the last that failed. */
    this.attempt = 0;
    this.failed = 0;
    /** In a row. */
    this.failures = 0;
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
    const file = await written;
    this.sessions.set(file, batch.name);
    this.waiting.push(file);
    if (this.held.names.size > 0) this.wake();
    this._sendAll();
  }

  /**
   * Whether the server has everything that was appended before, or to this session, at the latest after so many milliseconds; at once if it
   * refuses the key or fails at what is left.
   * @param {number} milliseconds @param {string} [name] the session's external id
   */
  async flush(milliseconds, name) {
    await this.writing;
    const before = new Set(this.waiting);
    const isOf = (/** @type {string} */ file) => name === undefined || (this.sessions.get(file) ?? name) === name;
    const left = () => this.waiting.filter((file) => before.has(file) && isOf(file));
    if (left().length === 0 || this.closed) return left().length === 0;
    // What the present attempt is told may be outdated.
    const { attempt } = this;
    this.held.asked = true;
    this.wake();
    this._sendAll();
    return new Promise((resolve) => {
      const attempted = () => {
        if (left().length === 0) end(true);
        else if (this.failed > attempt && (refusesKey(this.error) || this._isStuck(left()))) end(false);
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

  /** Does only wait what is for sessions at whose next batch the server fails again and again? */
  get isHeldUp() {
    return this._isStuck(this.waiting);
  }

  /** Names of files with what the server refused. */
  async refused() {
    return this._own(await readdir(join(this.folder, REFUSED_FOLDER)));
  }

  /** Keeps what was refused, and says so. @param {Batch} batch @param {string} why @param {string} [name] */
  async keepRefused(batch, why, name = this._newName()) {
    const file = join(this.folder, REFUSED_FOLDER, name);
    await store(file, { ...batch, why });
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
    await store(join(this.folder, name), batch);
    return name;
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
    while (!this.closed && this.waiting.length > 0) {
      this.attempt += 1;
      try {
        await this._round();
        this.error = undefined;
        this.hasWarned = false;
      } catch (error) {
        this.failures += 1;
        this._note(error);
      }
      this._tell();
      if (this.error !== undefined && !this.closed) await this._pause();
    }
  }

  /** Sends what waits, except behind batches at which the server fails. Rejects if something is left. */
  async _round() {
    const { held } = this;
    const triesAgain = held.begin();
    for (let at = 0; at < this.waiting.length && !this.closed; ) {
      const file = this.waiting[at];
      if (await this._isDone(file)) {
        this.waiting.splice(this.waiting.indexOf(file), 1);
        this.sessions.delete(file);
        this.failures = 0;
        this._tell();
      } else at += 1;
    }
    if (triesAgain) held.end();
    if (held.error !== undefined) throw held.error;
  }

  /** @param {string} file @returns whether it need not be sent any more; false if it has to wait */
  async _isDone(file) {
    const { held } = this;
    if (held.names.has(this.sessions.get(file) ?? "")) return false;
    try {
      return await this._sendFile(file);
    } catch (error) {
      const name = this.sessions.get(file);
      if (name === undefined || !isFailure(error)) throw error;
      await this.ask().catch(() => {
        throw error;
      });
      error.retryAfter = 0; // Others do not wait for it.
      if (held.add(name, error)) {
        warn(`The server fails at entries of ${name}: ${messageOf(error)} They wait in ${this.folder}. Other transcripts go on.`);
      }
      return false;
    }
  }

  _tell() {
    for (const listener of [...this.listeners]) listener();
  }

  /** @param {string[]} files */
  _isStuck(files) {
    return files.length > 0 && files.every((file) => this.held.isStuck(this.sessions.get(file) ?? ""));
  }

  /** @param {unknown} error */
  _note(error) {
    this.error = error;
    this.failed = this.attempt;
    if (!refusesKey(error) || this.hasWarned) return;
    this.hasWarned = true;
    warn(`The server refuses the key: ${messageOf(error)} What is appended waits in ${this.folder}.`);
  }

  async _pause() {
    const asked = this.error instanceof ApiError ? this.error.retryAfter : 0;
    const longest = this.listeners.size > 0 ? LONGEST_AWAITED_MS : Number.POSITIVE_INFINITY;
    const wait = Math.max(asked * 1000, Math.min(backoff(this.failures), longest));
    await new Promise((resolve) => {
      // What the server asks for is not cut short. The program may end meanwhile.
      if (asked === 0) this.wake = () => resolve(undefined);
      setTimeout(resolve, wait).unref();
    });
    this.wake = () => {};
  }

  /** @param {string} name @returns whether it is done; false if its session waits */
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
      if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return true;
      throw error;
    }
    if (batch === null) return true;
    this.sessions.set(name, batch.name);
    if (this.held.names.has(batch.name)) return false;
    try {
      await this.send(batch);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.keepRefused(batch, error.message, name);
    }
    await rm(file, { force: true });
    this.held.passed(batch.name);
    return true;
  }
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

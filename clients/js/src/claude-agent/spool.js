/** What the server does not have yet, in files of a folder: one for each batch, sent in the order of their names. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ApiError, backoff } from "#module/server/http.js";

/** @typedef {{key: string, name: string, opening: object, ops: object[]}} Batch `name`: the session's external id */

// The batch itself is refused. All other errors pass, or somebody mends their cause.
const REFUSED = new Set([400, 413, 422]);
const REFUSED_FOLDER = "refused";
const BATCH_FILE = /^\d.*\.json$/;

/** The server has not taken everything that was appended, or neither it nor the disk takes anything. */
export class SpoolError extends Error {
  /** @param {string} message @param {unknown} [cause] */
  constructor(message, cause) {
    super(message, { cause });
    this.name = "SpoolError";
  }
}

export class Spool {
  /** @param {string} folder @param {(batch: Batch) => Promise<void>} send repeatable */
  constructor(folder, send) {
    this.folder = folder;
    this.send = send;
    /** Names of files. @type {string[]} */
    this.waiting = [];
    this.counter = 0;
    this.lastAt = 0;
    this.closed = false;
    /** Why the last attempt failed. @type {unknown} */
    this.error = undefined;
    /** @type {Promise<void> | undefined} */
    this.sending = undefined;
    /** One file after the other, so that their names have the order of the calls. @type {Promise<unknown>} */
    this.writing = this._begin().catch(() => {});
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** Resolves when the batch is on the disk. @param {Batch} batch */
  async add(batch) {
    const written = this.writing.then(() => this._write(batch));
    this.writing = written.catch(() => {});
    this.waiting.push(await written);
    this._sendAll();
  }

  /** Whether the server has everything, at the latest after so many milliseconds. @param {number} milliseconds */
  async flush(milliseconds) {
    await this.writing;
    this._sendAll();
    if (this.waiting.length === 0) return true;
    return new Promise((resolve) => {
      const done = () => this.waiting.length === 0 && end(true);
      const end = (/** @type {boolean} */ all) => {
        clearTimeout(timer);
        this.listeners.delete(done);
        resolve(all);
      };
      const timer = setTimeout(() => end(false), milliseconds);
      this.listeners.add(done);
    });
  }

  /** Names of files with what the server refused. */
  async refused() {
    return (await readdir(join(this.folder, REFUSED_FOLDER))).sort();
  }

  /** @param {Batch} batch @param {string} [name] keeps what was refused */
  async keepRefused(batch, name = this._newName()) {
    await this._store(join(this.folder, REFUSED_FOLDER, name), batch);
  }

  /** Nothing is sent any more. */
  close() {
    this.closed = true;
  }

  async _begin() {
    await mkdir(join(this.folder, REFUSED_FOLDER), { recursive: true, mode: 0o700 });
    this.waiting.unshift(...(await readdir(this.folder)).filter((name) => BATCH_FILE.test(name)).sort());
    this._sendAll();
  }

  /** @param {Batch} batch */
  async _write(batch) {
    const name = this._newName();
    await this._store(join(this.folder, name), batch);
    return name;
  }

  /** Whole or not at all, and on the disk. @param {string} file @param {Batch} batch */
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
    return `${this.lastAt}-${String(this.counter).padStart(9, "0")}-${process.pid}.json`;
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
      this.error = undefined;
      try {
        await this._sendFile(this.waiting[0]);
        this.waiting.shift();
        failures = 0;
        for (const listener of [...this.listeners]) listener();
      } catch (error) {
        this.error = error;
        failures += 1;
        const wait = backoff(failures, error instanceof ApiError ? error.retryAfter : 0);
        // The program may end meanwhile.
        await new Promise((resolve) => void setTimeout(resolve, wait).unref());
      }
    }
  }

  /** @param {string} name */
  async _sendFile(name) {
    const file = join(this.folder, name);
    /** @type {Batch} */
    let batch;
    try {
      batch = JSON.parse(await readFile(file, "utf8"));
    } catch (error) {
      // Another process with this folder sent it.
      if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return;
      throw error;
    }
    try {
      await this.send(batch);
    } catch (error) {
      if (!(error instanceof ApiError) || !REFUSED.has(error.status)) throw error;
      await this.keepRefused(batch, name);
    }
    await rm(file, { force: true });
  }
}

/**
 * Stillhere without a browser: for servers, workers and command lines. Uses `fetch` and nothing of a page.
 *
 *     import { Client } from "stillhere";
 *     const client = new Client({ url: "https://chat.example.org", key: "sh_…", project: "/home/ana/shop" });
 *     const { id } = await client.openSession("thread-42");
 *     await client.save(id, [{ id: "m1", role: "user", text: "Hello" }]);
 *
 * Types are in `client.d.ts`.
 */
import { readStream } from "#module/answers/stream-reader.js";
import { ApiError, backoff, Http } from "#module/server/http.js";
import { bytesOf, sleep, uuid } from "#module/util.js";
import { byExternal, ofSession } from "./addresses.js";
import { settingsOf } from "./settings.js";
import { StreamWriter } from "./stream-writer.js";

/** @import { StreamEnd, StreamWriter as Declared } from "./client.js" */

const PATIENCE_MS = 30_000;
// So soon it is noticed that the server is back.
const LONGEST_PAUSE_MS = 2000;
// A server that starts again is away for a moment; who waits longer is told why.
const TOLD_AFTER_MS = 2000;
// A full account or disk does not empty itself meanwhile.
const FULL = 507;
const PAGE = 500;
const OPS = 500;
// The server takes 5,000,000 by default.
const REQUEST_BYTES = 4_000_000;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class Client {
  /** @param {{url?: string, key?: string, project?: string}} [options] */
  constructor(options = {}) {
    const { url, key, project } = settingsOf(options);
    this.project = project;
    this.http = new Http(url, { key });
    this.patience = PATIENCE_MS;
    /** Told that the server does not answer. Told again if it does and is away once more. */
    this.told = false;
    /** Ends all requests. @type {AbortSignal | undefined} */
    this.signal = undefined;
    /** @type {Promise<string> | undefined} */
    this.projectId = this._byId ? Promise.resolve(this.project) : undefined;
  }

  /** The session with your own id, created if there is none. @param {string} externalId @param {object} [fields] */
  async openSession(externalId, fields = {}) {
    return this._sendIn("PUT", byExternal(externalId), fields);
  }

  /** The same if there is one, else null. @param {string} externalId */
  async findSession(externalId) {
    try {
      return await this._sendIn("GET", byExternal(externalId));
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return null;
      throw error;
    }
  }

  /** Saves messages; others of the session stay as they are. @param {string} session @param {readonly {id?: string}[]} messages */
  async save(session, messages) {
    if (!Array.isArray(messages)) throw new TypeError("Pass a list of messages: [{…}].");
    const wrong = messages.findIndex((message) => typeof message !== "object" || message === null);
    if (wrong >= 0) throw new TypeError(`messages[${wrong}] is no object.`);
    const ops = messages.map((message) => ({ op: "upsert", ...message, id: message.id ?? uuid() }));
    return this._saveOps(session, ops);
  }

  /**
   * All messages of the session, in order.
   * @param {string} session @param {{as?: string, repair?: boolean, fields?: readonly string[]}} [options]
   */
  async messages(session, { as, repair = false, fields = [] } = {}) {
    /** @type {unknown[]} */
    const all = [];
    const where = `${ofSession(session)}/messages`;
    for (let before = ""; ; ) {
      const asked = new URLSearchParams({ limit: String(PAGE) });
      if (before) asked.set("before", before);
      if (as) asked.set("as", as);
      if (repair) asked.set("repair", "1");
      if (fields.length > 0) asked.set("fields", fields.join(","));
      const page = await this._send("GET", `${where}?${asked}`);
      all.unshift(...page.items);
      if (!page.next) return all;
      before = page.next;
    }
  }

  /** The project's current session with all that is needed to continue; null if nothing is saved. @param {{as?: string}} [options] */
  async resume({ as } = {}) {
    const project = this._byId ? (await this._send("GET", `/projects/${this.project}`)).path : this.project;
    const asked = new URLSearchParams({ project, optional: "1", ...(as ? { as } : {}) });
    return this._send("GET", `/resume?${asked}`);
  }

  /** Lets an answer be held while it is made. @param {string} session @param {string} message its id @returns {Promise<Declared>} */
  async openStream(session, message) {
    const { stream, offset } = await this._send("POST", `${ofSession(session)}/streams`, { message });
    return new StreamWriter((...request) => this._send(...request), stream, offset);
  }

  /**
   * Yields the chunks of a stream from number `offset` on, until it ends. How it ended is the generator's result, and passed to
   * `onEnd`.
   * @param {string} stream @param {{offset?: number, signal?: AbortSignal, onEnd?: (state: StreamEnd) => void}} [options]
   * @returns {AsyncGenerator<unknown, StreamEnd | undefined>}
   */
  async *readStream(stream, { offset = 0, signal = new AbortController().signal, onEnd } = {}) {
    for (let failures = 0, next = offset; !signal.aborted; ) {
      try {
        for await (const { chunks, end } of readStream(this.http, stream, next, signal)) {
          failures = 0;
          for (const { number, data } of chunks) {
            if (number !== next) continue;
            next += 1;
            yield data;
          }
          if (end === null) continue;
          onEnd?.(/** @type {StreamEnd} */ (end));
          return /** @type {StreamEnd} */ (end);
        }
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!(error instanceof ApiError) || !error.passing || failures > 6) throw error;
        failures += 1;
        await sleep(backoff(failures, error.retryAfter));
      }
    }
    return undefined;
  }

  /**
   * In requests that are the same if it is called again with the same `key`. `baseRev`: what is older may be replaced.
   * @param {string} session @param {object[]} ops @param {{key?: string, baseRev?: number}} [options] @returns {Promise<any[]>}
   */
  async _saveOps(session, ops, { key = uuid(), baseRev } = {}) {
    const answers = [];
    const where = `${ofSession(session)}/changes`;
    for (const [number, some] of pieces(ops).entries()) {
      const body = { ops: some, ...(baseRev === undefined ? {} : { base_rev: baseRev }) };
      answers.push(await this._send("POST", where, body, { "Idempotency-Key": `${key}.${number}` }));
    }
    return answers;
  }

  get _byId() {
    return ID.test(this.project);
  }

  /**
   * In the project. One that was erased meanwhile is created again, if it is known by its path.
   * @param {string} method @param {string} where @param {object} [body] @returns {Promise<any>}
   */
  async _sendIn(method, where, body) {
    const known = this._project();
    try {
      return await this._send(method, `/projects/${await known}${where}`, body);
    } catch (error) {
      const isErased = error instanceof ApiError && error.status === 404 && error.details.kind === "project";
      if (!isErased || this._byId) throw error;
      if (this.projectId === known) this.projectId = undefined;
      return this._send(method, `/projects/${await this._project()}${where}`, body);
    }
  }

  _project() {
    this.projectId ??= this._send("POST", "/projects", { path: this.project }).then(
      ({ id }) => id,
      (error) => {
        this.projectId = undefined;
        throw error;
      },
    );
    return /** @type {Promise<string>} */ (this.projectId);
  }

  /**
   * Again until there is an answer, for up to 30 seconds: none of these requests does anything twice.
   * @param {string} method @param {string} where @param {object} [body] @param {Record<string, string>} [headers] @returns {Promise<any>}
   */
  async _send(method, where, body, headers) {
    const { patience, signal } = this;
    const begun = performance.now();
    for (let failures = 1, until = begun + patience; ; failures += 1) {
      try {
        const answer = await this.http.request(method, where, body, headers, { signal });
        this.told = false;
        return answer.body;
      } catch (error) {
        if (!(error instanceof ApiError) || !error.passing || error.status === FULL) throw error;
        const wait = Math.max(error.retryAfter * 1000, Math.min(backoff(failures), LONGEST_PAUSE_MS));
        if (performance.now() + wait > until) throw error;
        if (performance.now() + wait >= begun + TOLD_AFTER_MS) this._tell(error, until);
        await sleep(wait);
      }
    }
  }

  /** Once while the server does not answer. @param {ApiError} error @param {number} until it is tried again */
  _tell(error, until) {
    if (this.told || error.status !== 0) return;
    this.told = true;
    console.warn(`[Stillhere] ${error.message} It is tried again for ${Math.round((until - performance.now()) / 1000)} s.`);
  }
}

/** Lists that fit into one request each; one list at least. @param {object[]} ops */
function pieces(ops) {
  /** @type {object[][]} */
  const lists = [[]];
  let size = 0;
  for (const op of ops) {
    const own = bytesOf(JSON.stringify(op)) + 1;
    const last = lists[lists.length - 1];
    if (last.length > 0 && (last.length >= OPS || size + own > REQUEST_BYTES)) {
      lists.push([op]);
      size = own;
    } else {
      last.push(op);
      size += own;
    }
  }
  return lists;
}

export { ApiError, uuid };

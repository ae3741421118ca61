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
import { sleep, uuid } from "#module/util.js";

/** @import { StreamWriter as Declared } from "./client.js" */

const PATIENCE_MS = 30_000;
const PAGE = 500;
const OPS = 500;
const REQUEST_CHARACTERS = 2_000_000;

/** @param {string} name */
const setting = (name) => /** @type {any} */ (globalThis).process?.env?.[name];

/** @param {string} text */
const path = (text) => encodeURIComponent(text);

export class Client {
  /** @param {{url?: string, key?: string, project?: string}} [options] */
  constructor({ url, key, project } = {}) {
    const base = url ?? setting("STILLHERE_URL");
    this.project = project ?? setting("STILLHERE_PROJECT") ?? "";
    const secret = key ?? setting("STILLHERE_KEY");
    if (!base || !secret || !this.project)
      throw new TypeError("A client needs `url`, `key` and `project`, or STILLHERE_URL and so on.");
    this.http = new Http(base, { key: secret });
    /** @type {Promise<string> | undefined} */
    this.projectId = undefined;
  }

  /** The session with your own id, created if there is none. @param {string} externalId @param {object} [fields] */
  async openSession(externalId, fields = {}) {
    return this._send("PUT", `/projects/${await this._project()}/sessions/by-external/${path(externalId)}`, fields);
  }

  /** The same if there is one, else null. @param {string} externalId */
  async findSession(externalId) {
    try {
      return await this._send("GET", `/projects/${await this._project()}/sessions/by-external/${path(externalId)}`);
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return null;
      throw error;
    }
  }

  /** Saves messages; others of the session stay as they are. @param {string} session @param {readonly {id?: string}[]} messages */
  async save(session, messages) {
    const ops = messages.map((message) => ({ op: "upsert", id: uuid(), ...message }));
    return this._saveOps(session, ops);
  }

  /** All messages of the session, in order. @param {string} session @param {{as?: string, repair?: boolean}} [options] */
  async messages(session, { as, repair = false } = {}) {
    /** @type {unknown[]} */
    const all = [];
    for (let before = ""; ; ) {
      const asked = new URLSearchParams({ limit: String(PAGE) });
      if (before) asked.set("before", before);
      if (as) asked.set("as", as);
      if (repair) asked.set("repair", "1");
      const page = await this._send("GET", `/sessions/${session}/messages?${asked}`);
      all.unshift(...page.items);
      if (!page.next) return all;
      before = page.next;
    }
  }

  /** The project's current session with all that is needed to continue; null if nothing is saved. @param {{as?: string}} [options] */
  resume({ as } = {}) {
    const asked = new URLSearchParams({ project: this.project, optional: "1", ...(as ? { as } : {}) });
    return this._send("GET", `/resume?${asked}`);
  }

  /** Lets an answer be held while it is made. @param {string} session @param {string} message its id @returns {Promise<Declared>} */
  async openStream(session, message) {
    const { stream, offset } = await this._send("POST", `/sessions/${session}/streams`, { message });
    return new StreamWriter((...request) => this._send(...request), stream, offset);
  }

  /**
   * Yields the chunks of a stream from number `offset` on, until it ends.
   * @param {string} stream @param {{offset?: number, signal?: AbortSignal}} [options]
   */
  async *readStream(stream, { offset = 0, signal = new AbortController().signal } = {}) {
    for (let failures = 0, next = offset; !signal.aborted; ) {
      try {
        for await (const { chunks, end } of readStream(this.http, stream, next, signal)) {
          failures = 0;
          for (const { number, data } of chunks) {
            if (number !== next) continue;
            next += 1;
            yield data;
          }
          if (end !== null) return;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiError) || !error.passing || failures > 6) throw error;
        failures += 1;
        await sleep(backoff(failures, error.retryAfter));
      }
    }
  }

  /**
   * In requests that are the same if it is called again with the same `key`. `baseRev`: what is older may be replaced.
   * @param {string} session @param {object[]} ops @param {{key?: string, baseRev?: number}} [options] @returns {Promise<any[]>}
   */
  async _saveOps(session, ops, { key = uuid(), baseRev } = {}) {
    const answers = [];
    for (const [number, some] of pieces(ops).entries()) {
      const body = { ops: some, ...(baseRev === undefined ? {} : { base_rev: baseRev }) };
      answers.push(await this._send("POST", `/sessions/${session}/changes`, body, { "Idempotency-Key": `${key}.${number}` }));
    }
    return answers;
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
    for (let failures = 1, until = Date.now() + PATIENCE_MS; ; failures += 1) {
      try {
        return (await this.http.request(method, where, body, headers)).body;
      } catch (error) {
        const wait = error instanceof ApiError && error.passing ? backoff(failures, error.retryAfter) : Number.POSITIVE_INFINITY;
        if (Date.now() + wait > until) throw error;
        await sleep(wait);
      }
    }
  }
}

/** Appends to one stream, one request at a time and in order. */
class StreamWriter {
  /** @param {Client["_send"]} send @param {string} id @param {number} offset number of the next chunk */
  constructor(send, id, offset) {
    this.send = send;
    this.id = id;
    this.offset = offset;
    this.sent = Promise.resolve();
  }

  /** @param {readonly unknown[]} chunks texts, or objects such as the AI SDK's UI message chunks */
  append(chunks) {
    this.sent = this.sent.then(async () => {
      const { offset } = await this.send("POST", `/streams/${this.id}/chunks`, { offset: this.offset, chunks });
      this.offset = offset;
    });
    return this.sent;
  }

  /** @param {{interrupted?: boolean}} [how] */
  async end({ interrupted = false } = {}) {
    await this.sent;
    await this.send("POST", `/streams/${this.id}/end`, interrupted ? { interrupted } : {});
  }
}

/** Lists that fit into one request each; one list at least. @param {object[]} ops */
function pieces(ops) {
  /** @type {object[][]} */
  const lists = [[]];
  let size = 0;
  for (const op of ops) {
    const own = JSON.stringify(op).length;
    const last = lists[lists.length - 1];
    if (last.length > 0 && (last.length >= OPS || size + own > REQUEST_CHARACTERS)) {
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

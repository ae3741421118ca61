/** Transcripts as sessions of a project. */
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { foldSessionSummary } from "@anthropic-ai/claude-agent-sdk";
import { byExternal } from "../addresses.js";
import { ApiError, Client } from "../client.js";
import { asMessage, FORMAT } from "./entries.js";
import { entriesOf, objectsIn, upsertsOf } from "./long-objects.js";
import { externalIdOf, idOf, isTranscript, ofProject, ofSession, openingOf, SUBAGENT_TAG, summariesOf, TAG } from "./names.js";
import { isRefusal, messageOf, Spool, SpoolError, warn } from "./spool.js";
import { Summaries } from "./summaries.js";

/**
 * @import { Entry } from "./entries.js"
 * @import { Key } from "./names.js"
 * @import { Batch } from "./batch-files.js"
 * @import { Rejected } from "../client.js"
 */

/**
 * What of `Client` only this package knows.
 * @typedef {object} Requests
 * @property {(method: string, where: string, body?: object) => Promise<any>} _send
 * @property {() => Promise<string>} _project
 * @property {(method: string, where: string, body?: object) => Promise<any>} _sendIn
 * @property {(session: string, ops: object[], options: {key: string, baseRev: number}) => Promise<{rejected: Rejected[]}[]>} _saveOps
 * @property {{base: string}} http
 * @property {number} patience
 * @property {AbortSignal | undefined} signal
 *
 * @typedef {Client & Requests} Requester
 * @typedef {{ops: object[], why: string}} Left entries that the server refused
 */

const READ = { fields: /** @type {const} */ (["format", "raw"]) };
const FLUSH_MS = 30_000;
const CLOSE_MS = 5000;
const MOST = 500;
// Of sessions, of which a program may see millions while it runs.
const MOST_KNOWN = 10_000;
// About what a request has: the others of its batch are stored without it.
const OF_CONTENT = new Set([400, 413, 422]);
// The newest append counts: an entry that comes again replaces the former one.
const SEEN_ALL = Number.MAX_SAFE_INTEGER;

const ownFolder = () => join(process.env.XDG_STATE_HOME || join(homedir(), ".local/state"), "stillhere/claude-agent-js");

export class StillhereSessionStore {
  /** @param {{url?: string, key?: string, project?: string, spool?: string}} [options] */
  constructor({ spool, ...options } = {}) {
    this.client = /** @type {Requester} */ (/** @type {unknown} */ (new Client(options)));
    this.closing = new AbortController();
    /** Sends in the background, where the spool tries again and a close ends everything. */
    this.sender = /** @type {Requester} */ (/** @type {unknown} */ (new Client(options)));
    Object.assign(this.sender, { patience: 0, signal: this.closing.signal });
    const scope = `${this.client.http.base} ${this.client.project}`;
    const ask = () => this.sender._sendIn("GET", "");
    this.spool = new Spool(spool ?? ownFolder(), scope, (batch) => this._deliver(batch), ask);
    /** Ids of sessions by their external ids. @type {Map<string, string>} */
    this.sessions = new Map();
    /** Batches that neither the disk nor the server took: the SDK sends them again, and some may be stored. @type {Map<string, Batch>} */
    this.failed = new Map();
    /** What the disk does not take, one batch after the other. @type {Promise<unknown>} */
    this.sendingAtOnce = Promise.resolve();
    this.summaries = new Summaries(this.client);
  }

  /** @param {Key} key @param {Entry[]} entries */
  async append(key, entries) {
    if (entries.length === 0) return;
    const name = externalIdOf(key);
    const print = JSON.stringify([name, entries]);
    const ops = () => entries.flatMap((entry) => upsertsOf(asMessage(idOf(entry), entry)));
    const batch = this.failed.get(print) ?? { key: randomUUID(), name, opening: openingOf(key), ops: ops() };
    try {
      await this.spool.add(batch).catch((error) => this._sendAtOnce(batch, error));
      this.failed.delete(print);
    } catch (error) {
      this.failed.set(print, batch);
      throw error;
    }
  }

  /** @param {Key} key */
  async load(key) {
    const name = externalIdOf(key);
    await this._settled(name);
    const session = await this._find(name);
    return session && objectsIn(await this.client.messages(session.id, READ), FORMAT);
  }

  /** @param {string} projectKey */
  async listSessions(projectKey) {
    const found = await this._mainSessions(projectKey);
    return found.map(({ sessionId, mtime }) => ({ sessionId, mtime }));
  }

  /** Sessions that changed since the last call are read; the results are kept in the project's memory. @param {string} projectKey */
  async listSessionSummaries(projectKey) {
    const found = await this._mainSessions(projectKey);
    const namespace = summariesOf(projectKey);
    const known = await this.summaries.read(namespace);
    /** @type {object[]} */
    const ops = [];
    const summaries = [];
    for (const { sessionId, mtime, id, asOf } of found) {
      let stored = known.get(sessionId);
      if (JSON.stringify(stored?.asOf) !== JSON.stringify(asOf)) {
        const entries = objectsIn(await this.client.messages(id, READ), FORMAT);
        stored = { asOf, data: foldSessionSummary(undefined, { projectKey, sessionId }, entries).data };
        ops.push({ op: "put", namespace, key: sessionId, value: stored });
      }
      known.delete(sessionId);
      summaries.push({ sessionId, mtime, data: stored.data });
    }
    for (const key of known.keys()) ops.push({ op: "purge", namespace, key });
    await this.summaries.keep(ops);
    return summaries;
  }

  /** @param {Key} key */
  async delete(key) {
    await this._settled();
    await this._settled(externalIdOf(key));
    const tags = [SUBAGENT_TAG, ofSession(key)];
    const subagents = key.subpath ? [] : [...(await this._tagged(tags)), ...(await this._tagged(tags, "trash"))];
    const own = await this._idOf(externalIdOf(key));
    for (const id of [...subagents.map(({ id }) => id), ...(own ? [own] : [])]) {
      await this.client._send("DELETE", `/sessions/${id}?purge=1`).catch(unlessStatus(404));
    }
  }

  /** @param {{projectKey: string, sessionId: string}} key */
  async listSubkeys(key) {
    await this._settled();
    const found = await this._tagged([SUBAGENT_TAG, ofSession(key)]);
    return found.flatMap(({ metadata }) => metadata[TAG]?.subpath ?? []);
  }

  refused() {
    return this.spool.refused();
  }

  async close(milliseconds = CLOSE_MS) {
    const all = await this.spool.flush(milliseconds);
    this.spool.close();
    this.closing.abort();
    return all;
  }

  /** @param {string} [name] of one transcript; without it one at which the server fails is passed over */
  async _settled(name) {
    if ((await this.spool.flush(FLUSH_MS, name)) || (name === undefined && this.spool.isHeldUp)) return;
    const { error } = this.spool;
    const why = error === undefined ? "it is slow." : messageOf(error);
    throw new SpoolError(`The server has not taken everything that was appended: ${why}`, error);
  }

  /** Null if there is none, or it is in the trash. @param {string} name */
  async _find(name) {
    try {
      return await this.client._sendIn("GET", byExternal(name));
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 410)) throw error;
      if (error.code === "session_deleted") warn(`The session ${name} is in the trash. Restore it on its page to continue it.`);
      return null;
    }
  }

  /** Also if it is in the trash. @param {string} name @returns {Promise<string | null>} */
  async _idOf(name) {
    try {
      return (await this.client._sendIn("GET", byExternal(name))).id;
    } catch (error) {
      if (error instanceof ApiError && error.code === "session_deleted") return String(error.details.session);
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  /** @param {string} projectKey */
  async _mainSessions(projectKey) {
    await this._settled();
    const found = await this._tagged([TAG, ofProject(projectKey)]);
    return found.flatMap(({ id, metadata, updated_at, epoch, message_count, size_bytes }) => {
      const sessionId = metadata[TAG]?.session_id;
      const asOf = [epoch, message_count, size_bytes];
      return typeof sessionId === "string" ? [{ sessionId, id, mtime: Date.parse(updated_at), asOf }] : [];
    });
  }

  /** Without a state: in any but the trash. @param {string[]} tags @param {string} [state] @returns {Promise<any[]>} */
  async _tagged(tags, state) {
    const all = [];
    const wanted = [...tags.map((tag) => ["tag", tag]), ...(state ? [["state", state]] : []), ["limit", `${MOST}`]];
    for (let cursor = ""; ; ) {
      const asked = new URLSearchParams([...wanted, ["cursor", cursor]]);
      const page = await this.client._sendIn("GET", `/sessions?${asked}`);
      all.push(...page.items.filter(isTranscript));
      if (!page.next) return all;
      cursor = page.next;
    }
  }

  /** The disk takes nothing. @param {Batch} batch @param {unknown} error */
  _sendAtOnce(batch, error) {
    const sent = this.sendingAtOnce.then(() => this._sendNow(batch, error));
    this.sendingAtOnce = sent.catch(() => {});
    return sent;
  }

  /** What waits on the disk comes first. @param {Batch} batch @param {unknown} error */
  async _sendNow(batch, error) {
    await this._settled();
    await this._settled(batch.name);
    try {
      await this._deliver(batch, this.client);
    } catch (refusal) {
      throw new SpoolError(`Neither the disk nor the server takes entries: ${messageOf(refusal)}`, error);
    }
  }

  /** Repeatable: the same requests, and what is stored already is ignored. @param {Batch} batch */
  async _deliver(batch, client = this.sender) {
    try {
      await this._save(batch, client);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 410)) throw error;
      // It was erased meanwhile, or its project was: what comes now begins another one.
      this.sessions.delete(batch.name);
      await this._save(batch, client);
    }
  }

  /** @param {Batch} batch @param {Requester} client */
  async _save(batch, client) {
    const { name, opening, ops, key } = batch;
    const session = this.sessions.get(name) ?? (await client.openSession(name, opening)).id;
    this.sessions.set(name, session);
    const [first] = this.sessions.keys();
    if (this.sessions.size > MOST_KNOWN) this.sessions.delete(first);
    for (const left of await this._store(client, session, entriesOf(ops), key)) {
      await this.spool.keepRefused({ ...batch, ops: left.ops }, left.why);
    }
  }

  /**
   * Halves what is refused, until it is known which entry is.
   * @param {Requester} client @param {string} session @param {object[][]} entries @param {string} key @returns {Promise<Left[]>}
   */
  async _store(client, session, entries, key) {
    const ops = entries.flat();
    try {
      const answers = await client._saveOps(session, ops, { key, baseRev: SEEN_ALL });
      const rejected = answers.flatMap((answer) => answer.rejected);
      const wrong = new Set(rejected.map(({ id }) => id));
      const left = ops.filter((op) => wrong.has(/** @type {{id: string}} */ (op).id));
      const [first] = rejected;
      return left.length > 0 ? [{ ops: left, why: first.field ? `${first.message} (${first.field})` : first.message }] : [];
    } catch (error) {
      if (!isRefusal(error) || !OF_CONTENT.has(error.status)) throw error;
      if (entries.length === 1) return [{ ops, why: error.message }];
      const half = Math.ceil(entries.length / 2);
      const left = await this._store(client, session, entries.slice(0, half), `${key}0`);
      return [...left, ...(await this._store(client, session, entries.slice(half), `${key}1`))];
    }
  }
}

/** @param {number} status */
function unlessStatus(status) {
  return (/** @type {unknown} */ error) => {
    if (!(error instanceof ApiError) || error.status !== status) throw error;
  };
}

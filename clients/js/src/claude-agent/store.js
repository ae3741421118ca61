/** Transcripts as sessions of a project. */
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { foldSessionSummary } from "@anthropic-ai/claude-agent-sdk";
import { ApiError, Client } from "../client.js";
import { asMessage, FORMAT } from "./entries.js";
import { objectsIn, upsertsOf } from "./long-objects.js";
import { externalIdOf, idOf, ofProject, ofSession, openingOf, SUBAGENT_TAG, summariesOf, TAG } from "./names.js";
import { Spool, SpoolError } from "./spool.js";

/**
 * @import { Entry } from "./entries.js"
 * @import { Key } from "./names.js"
 * @import { Batch } from "./spool.js"
 */

/**
 * What of `Client` only this package knows.
 * @typedef {object} Requests
 * @property {(method: string, where: string, body?: object) => Promise<any>} _send
 * @property {() => Promise<string>} _project
 * @property {(session: string, ops: object[], options: {key: string, baseRev: number}) => Promise<{rejected: {id: string}[]}[]>} _saveOps
 */

const FLUSH_MS = 30_000;
const CLOSE_MS = 5000;
const MOST = 500;
// The newest append counts: an entry that comes again replaces the former one.
const SEEN_ALL = Number.MAX_SAFE_INTEGER;

const ownFolder = () => join(process.env.XDG_STATE_HOME || join(homedir(), ".local/state"), "stillhere/claude-agent-js");

export class StillhereSessionStore {
  /** @param {{url?: string, key?: string, project?: string, spool?: string}} [options] */
  constructor({ spool, ...options } = {}) {
    this.client = /** @type {Client & Requests} */ (/** @type {unknown} */ (new Client(options)));
    this.spool = new Spool(spool ?? ownFolder(), (batch) => this._deliver(batch));
    /** Ids of sessions by their external ids. @type {Map<string, string>} */
    this.sessions = new Map();
    /** Batches that neither the disk nor the server took: the SDK sends them again, and some may be stored. @type {Map<string, Batch>} */
    this.failed = new Map();
    this.setUp = false;
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
    await this._settled();
    const session = await this.client.findSession(externalIdOf(key));
    return session && objectsIn(await this.client.messages(session.id), FORMAT);
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
    const known = await this._values(namespace);
    /** @type {object[]} */
    const ops = [];
    const summaries = [];
    for (const { sessionId, mtime, id, asOf } of found) {
      let stored = known.get(sessionId);
      if (JSON.stringify(stored?.asOf) !== JSON.stringify(asOf)) {
        const entries = objectsIn(await this.client.messages(id), FORMAT);
        stored = { asOf, data: foldSessionSummary(undefined, { projectKey, sessionId }, entries).data };
        ops.push({ op: "put", namespace, key: sessionId, value: stored });
      }
      known.delete(sessionId);
      summaries.push({ sessionId, mtime, data: stored.data });
    }
    for (const key of known.keys()) ops.push({ op: "purge", namespace, key });
    await this._keep(ops);
    return summaries;
  }

  /** @param {Key} key */
  async delete(key) {
    await this._settled();
    const subagents = key.subpath ? [] : await this._tagged([SUBAGENT_TAG, ofSession(key)]);
    const own = await this.client.findSession(externalIdOf(key));
    for (const { id } of [...subagents, ...(own ? [own] : [])]) {
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
    return all;
  }

  async _settled() {
    if (await this.spool.flush(FLUSH_MS)) return;
    throw new SpoolError("The server has not taken everything that was appended.", this.spool.error);
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

  /** @param {string[]} tags @returns {Promise<any[]>} */
  async _tagged(tags) {
    const project = await this.client._project();
    const all = [];
    for (let cursor = ""; ; ) {
      const asked = new URLSearchParams([...tags.map((tag) => ["tag", tag]), ["limit", `${MOST}`], ["cursor", cursor]]);
      const page = await this.client._send("GET", `/projects/${project}/sessions?${asked}`);
      all.push(...page.items);
      if (!page.next) return all;
      cursor = page.next;
    }
  }

  /** The disk takes nothing: what waits there comes first. @param {Batch} batch @param {unknown} error */
  async _sendAtOnce(batch, error) {
    await this._settled();
    try {
      await this._deliver(batch);
    } catch {
      throw new SpoolError("Neither the disk nor the server takes entries.", error);
    }
  }

  /** Repeatable: the same requests, and what is stored already is ignored. @param {Batch} batch */
  async _deliver(batch) {
    try {
      await this._save(batch, await this._session(batch));
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 410)) throw error;
      // It was erased meanwhile: what comes now begins another one.
      this.sessions.delete(batch.name);
      await this._save(batch, await this._session(batch));
    }
  }

  /** @param {Batch} batch */
  async _session({ name, opening }) {
    const known = this.sessions.get(name) ?? (await this.client.openSession(name, opening)).id;
    this.sessions.set(name, known);
    return known;
  }

  /** @param {Batch} batch @param {string} session */
  async _save(batch, session) {
    const answers = await this.client._saveOps(session, batch.ops, { key: batch.key, baseRev: SEEN_ALL });
    const wrong = new Set(answers.flatMap(({ rejected }) => rejected.map(({ id }) => id)));
    if (wrong.size === 0) return;
    const ops = batch.ops.filter((op) => wrong.has(/** @type {any} */ (op).id));
    await this.spool.keepRefused({ ...batch, ops });
  }

  /** @param {string[]} namespace @returns {Promise<Map<string, any>>} */
  async _values(namespace) {
    const found = new Map();
    for (let cursor = null; ; ) {
      const [page] = await this._batch([{ op: "list", namespace, values: true, limit: MOST, ...(cursor ? { cursor } : {}) }]);
      for (const { key, value } of page.items) found.set(key, value);
      if (!page.next) return found;
      cursor = page.next;
    }
  }

  /** @param {object[]} ops */
  async _keep(ops) {
    if (ops.length > 0 && !this.setUp) {
      const settings = { exact: true, leased: false, versions: 0 };
      await this.client._send("PUT", `/projects/${await this.client._project()}/memory-settings/${TAG}`, settings);
      this.setUp = true;
    }
    for (let start = 0; start < ops.length; start += MOST) await this._batch(ops.slice(start, start + MOST));
  }

  /** @param {object[]} ops */
  async _batch(ops) {
    return (await this.client._send("POST", `/projects/${await this.client._project()}/memory/batch`, { ops })).results;
  }
}

/** @param {number} status */
function unlessStatus(status) {
  return (/** @type {unknown} */ error) => {
    if (!(error instanceof ApiError) || error.status !== status) throw error;
  };
}

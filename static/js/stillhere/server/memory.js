/** A project's memory: values under a namespace and a key, errors, and the context of a new run. */
import { kindOf } from "../util.js";
import { projectId } from "./handoff.js";
import { ApiError } from "./http.js";

/**
 * @import { AsRun, Compare, Context, ErrorReport, ErrorsRecorded, MemoryEntry, MemoryKey, MemoryNamespace, Redacted }
 *   from "../../stillhere.js"
 * @import { Http } from "./http.js"
 */

const PAGE = 500;

/** @param {Compare} options @returns {Record<string, string>} */
const conditions = ({ ifMatch, run }) => ({
  ...(ifMatch === undefined ? {} : ifMatch === null ? { "If-None-Match": "*" } : { "If-Match": ifMatch }),
  ...(run ? { "Stillhere-Run": run } : {}),
});

/** A missing entry is null; other refusals still reject. @template T @param {Promise<T>} request */
async function orNull(request) {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export class Memory {
  /** @param {Http} http @param {string} project its path */
  constructor(http, project) {
    this.http = http;
    this.project = project;
    /** @type {string | undefined} */
    this.id = undefined;
  }

  /**
   * Null if there is none.
   * @template [Value=unknown] @param {string} namespace @param {string} key @returns {Promise<MemoryEntry<Value> | null>}
   */
  async get(namespace, key) {
    const address = await this._address(namespace, key);
    if (!address) return null;
    /** @type {{body: MemoryEntry<Value>, etag: string | null} | null} */
    const answer = await orNull(this.http.request("GET", address));
    return answer && { ...answer.body, etag: answer.etag ?? "" };
  }

  /**
   * `ifMatch`: only if the stored entry has this `etag`; null: only if there is none. `run`: the one that holds the lease.
   * @template Value @param {string} namespace @param {string} key @param {Value} value @param {Compare} [options]
   * @returns {Promise<MemoryEntry<Value> & {redacted: Redacted}>}
   */
  async set(namespace, key, value, options = {}) {
    if (value === undefined) throw new TypeError("memory.set() needs a value that JSON can hold.");
    checkNames([namespace, key]);
    const address = addressOf(await this._make(), namespace, key);
    /** @type {{body: MemoryEntry<Value> & {redacted: Redacted}, etag: string | null}} */
    const { body, etag } = await this.http.request("PUT", address, value, conditions(options));
    return { ...body, etag: etag ?? "" };
  }

  /**
   * @param {string} namespace @param {string} key @param {Compare} [options]
   * @returns {Promise<boolean>} whether there was something to delete
   */
  async delete(namespace, key, options = {}) {
    const address = await this._address(namespace, key);
    return address !== null && (await orNull(this.http.request("DELETE", address, undefined, conditions(options)))) !== null;
  }

  /**
   * The namespaces, or the keys of one.
   * @overload @returns {Promise<MemoryNamespace[]>}
   */
  /** @overload @param {string} namespace @param {{prefix?: string}} [options] @returns {Promise<MemoryKey[]>} */
  /** @param {string} [namespace] @param {{prefix?: string}} [options] @returns {Promise<MemoryNamespace[] | MemoryKey[]>} */
  async list(namespace, { prefix = "" } = {}) {
    if (namespace !== undefined) return this._keys(namespace, prefix);
    const address = await this._address();
    if (!address) return [];
    /** @type {{items: MemoryNamespace[]}} */
    const { items } = await this.http.get(address);
    return items;
  }

  /** @param {readonly ErrorReport[]} errors @param {AsRun} [options] @returns {Promise<ErrorsRecorded>} */
  async reportErrors(errors, options = {}) {
    const id = await this._make();
    /** @type {{body: ErrorsRecorded}} */
    const { body } = await this.http.request("POST", `/projects/${id}/errors`, { errors }, conditions({ run: options.run }));
    return body;
  }

  /** @param {{budget?: number}} [options] @returns {Promise<Context | null>} */
  async context({ budget } = {}) {
    const id = await this._find();
    return id ? this.http.get(`/projects/${id}/context${budget === undefined ? "" : `?budget=${budget}`}`) : null;
  }

  /** @param {string} namespace @param {string} prefix */
  async _keys(namespace, prefix) {
    const address = await this._address(namespace);
    /** @type {MemoryKey[]} */
    const found = [];
    if (!address) return found;
    let cursor = "";
    do {
      const query = new URLSearchParams({ prefix, cursor, limit: String(PAGE) });
      /** @type {{items: MemoryKey[], next: string | null}} */
      const page = await this.http.get(`${address}?${query}`);
      found.push(...page.items);
      cursor = page.next ?? "";
    } while (cursor);
    return found;
  }

  /** Null if the project does not exist yet. @param {string[]} names */
  async _address(...names) {
    checkNames(names);
    const id = await this._find();
    return id ? addressOf(id, ...names) : null;
  }

  async _find() {
    this.id ??= await projectId(this.http, this.project);
    return this.id;
  }

  /** @returns {Promise<string>} */
  async _make() {
    const id = await this._find();
    if (id) return id;
    /** @type {{body: {id: string}}} */
    const { body } = await this.http.request("POST", "/projects", { path: this.project });
    this.id = body.id;
    return body.id;
  }
}

/** URLs have no place for some names: `a/..` is another one. @param {unknown[]} names */
function checkNames(names) {
  for (const name of names) {
    if (typeof name === "string" && !/^\.{0,2}$/.test(name)) continue;
    const given = typeof name === "string" ? `"${name}"` : kindOf(name);
    throw new TypeError(`A namespace and a key are strings, not empty, and neither \`.\` nor \`..\`. This was ${given}.`);
  }
}

/** @param {string} id the project's @param {string[]} names */
const addressOf = (id, ...names) => ["/projects", id, "memory", ...names.map(encodeURIComponent)].join("/");

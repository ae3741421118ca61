/** A project's memory beside its chats: values under a namespace and a key, errors, and what a new run should know. */
import { ApiError } from "./http.js";

const PAGE = 500;

const conditions = ({ ifMatch, run }) => ({
  ...(ifMatch === undefined ? {} : ifMatch === null ? { "If-None-Match": "*" } : { "If-Match": ifMatch }),
  ...(run ? { "Stillhere-Run": run } : {}),
});

/** What is not there is null; every other refusal stays one. */
async function orNull(request) {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export class Memory {
  /** @param {import("./http.js").Http} http @param {string} project its path */
  constructor(http, project) {
    this.http = http;
    this.project = project;
  }

  async get(namespace, key) {
    const address = await this._address(namespace, key);
    const answer = address && (await orNull(this.http.request("GET", address)));
    return answer && { ...answer.body, etag: answer.etag };
  }

  /** `ifMatch`: only where what is stored has this `etag`; null: only where there is nothing. `run`: the one that holds the lease. */
  async set(namespace, key, value, options = {}) {
    if (value === undefined) throw new TypeError("memory.set() needs a value that JSON can hold.");
    await this._make();
    const address = await this._address(namespace, key);
    const { body, etag } = await this.http.request("PUT", address, value, conditions(options));
    return { ...body, etag };
  }

  /** @returns {Promise<boolean>} whether there was something to delete */
  async delete(namespace, key, options = {}) {
    const address = await this._address(namespace, key);
    return address !== null && (await orNull(this.http.request("DELETE", address, undefined, conditions(options)))) !== null;
  }

  /** The namespaces, or the keys of one. */
  async list(namespace, { prefix = "" } = {}) {
    const address = await this._address(...(namespace === undefined ? [] : [namespace]));
    if (!address) return [];
    if (namespace === undefined) return (await this.http.get(address)).items;
    const found = [];
    let cursor = "";
    do {
      const query = new URLSearchParams({ prefix, cursor, limit: PAGE });
      const page = await this.http.get(`${address}?${query}`);
      found.push(...page.items);
      cursor = page.next;
    } while (cursor);
    return found;
  }

  async reportErrors(errors, options = {}) {
    const id = await this._make();
    return (await this.http.request("POST", `/projects/${id}/errors`, { errors }, conditions({ run: options.run }))).body;
  }

  async context({ budget } = {}) {
    const id = await this._find();
    return id && this.http.get(`/projects/${id}/context${budget === undefined ? "" : `?budget=${budget}`}`);
  }

  /** Null where the project does not exist yet. */
  async _address(...names) {
    const id = await this._find();
    return id && ["/projects", id, "memory", ...names.map(encodeURIComponent)].join("/");
  }

  async _find() {
    if (!this.id) {
      const { items } = await this.http.get(`/projects?path=${encodeURIComponent(this.project)}`);
      this.id = items[0]?.id;
    }
    return this.id ?? null;
  }

  async _make() {
    if (!(await this._find())) this.id = (await this.http.request("POST", "/projects", { path: this.project })).body.id;
    return this.id;
  }
}

/** What is kept of transcripts in the project's memory, so that a list need not read them. */
import { ApiError } from "../client.js";
import { TAG } from "./names.js";

/** @import { Requester } from "./store.js" */

const MOST = 500;
const SETTINGS = `/memory-settings/${TAG}`;
/** @type {Record<string, unknown>} */
const EXACT = { exact: true, leased: false, versions: 0 };
// What the server refuses, as where the project's memory is full, is made again at the next call.
const NOT_KEPT = new Set([403, 413, 422, 507]);

export class Summaries {
  /** @param {Requester} client */
  constructor(client) {
    this.client = client;
    /** The project whose memory is set up. @type {string | undefined} */
    this.setUpIn = undefined;
  }

  /** @param {string[]} namespace @returns {Promise<Map<string, any>>} */
  async read(namespace) {
    const found = new Map();
    for (let cursor = null; ; ) {
      const [page] = await this._batch([{ op: "list", namespace, values: true, limit: MOST, ...(cursor ? { cursor } : {}) }]);
      for (const { key, value } of page.items) found.set(key, value);
      if (!page.next) return found;
      cursor = page.next;
    }
  }

  /** @param {object[]} ops */
  async keep(ops) {
    try {
      const project = await this.client._project();
      if (ops.length > 0 && this.setUpIn !== project) {
        await this._setUp();
        this.setUpIn = project;
      }
      for (let start = 0; start < ops.length; start += MOST) await this._batch(ops.slice(start, start + MOST));
    } catch (error) {
      if (!(error instanceof ApiError) || !NOT_KEPT.has(error.status)) throw error;
    }
  }

  /** What people set besides, such as a quota, stays. */
  async _setUp() {
    const { namespace, labels, ...present } = await this.client._sendIn("GET", SETTINGS).catch(unlessNone);
    if (Object.entries(EXACT).some(([name, value]) => present[name] !== value)) {
      await this.client._sendIn("PUT", SETTINGS, { ...present, ...EXACT });
    }
  }

  /** @param {object[]} ops */
  async _batch(ops) {
    return (await this.client._sendIn("POST", "/memory/batch", { ops })).results;
  }
}

/** @param {unknown} error @returns {Record<string, unknown>} */
function unlessNone(error) {
  if (!(error instanceof ApiError) || error.details.kind !== "memory settings") throw error;
  return {};
}

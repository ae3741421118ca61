/** The messages of one account that the server has not acknowledged, of all its projects, from this browser's queue. */
import { accountScope } from "../util.js";
import { Database } from "./database.js";

/**
 * @import { Entry } from "../types.d.ts"
 *
 * @typedef {object} WaitingMessage
 * @property {string} id
 * @property {string} project its path
 * @property {string | undefined} chat the frontend's own id of the chat, if it has one
 * @property {string} text
 * @property {number} files how many files it has
 * @property {number} at milliseconds, by this machine's clock
 * @property {string} refused why the server does not accept it; "" if it was not asked yet
 */

const END = "\uffff";

export class WaitingMessages {
  /** @param {string} base the server's address @param {string} account */
  constructor(base, account) {
    this.scope = `${accountScope(base, account)}:`;
    this.database = new Database("stillhere", "queue", { keyPath: "key" }, "scope");
  }

  /** Of persons, each once, the oldest first. @returns {Promise<WaitingMessage[]>} */
  async read() {
    const range = IDBKeyRange.bound(this.scope, this.scope + END);
    /** @type {(queue: IDBObjectStore) => IDBRequest<Entry[]>} */
    const read = (queue) => queue.index("scope").getAll(range);
    const entries = await this.database.run("readonly", read).catch(() => []);
    /** @type {Map<string, WaitingMessage>} */
    const found = new Map();
    for (const entry of entries.sort((a, b) => a.at - b.at)) this._add(found, entry);
    return [...found.values()];
  }

  /** @param {Map<string, WaitingMessage>} found @param {Entry} entry */
  _add(found, { scope, body, at, refused }) {
    const [project, chat] = scope.slice(this.scope.length).split("#").map(decodeURIComponent);
    for (const { op, id, role, text = "", parts = [] } of body.ops ?? []) {
      if (op === "delete") found.delete(id);
      else if (role === "user") {
        const files = parts.filter((/** @type {{type?: string}} */ { type }) => type === "file").length;
        const first = found.get(id)?.at ?? at;
        found.set(id, { id, project, chat, text: text || textIn(parts), files, at: first, refused: refused?.message ?? "" });
      }
    }
  }
}

/** @param {{type?: string, text?: string}[]} parts */
const textIn = (parts) => parts.map(({ text }) => text ?? "").join("");

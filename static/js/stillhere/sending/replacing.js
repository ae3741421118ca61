/**
 * What newer requests replace on the disk: a page that is killed before that is done leaves both, and its successor must send the
 * newer only.
 */
import { without } from "../util.js";

/**
 * @import { Entry } from "../types.d.ts"
 * @import { QueueNeeds } from "../needs.d.ts"
 */

export class Replacing {
  /** @param {QueueNeeds["outbox"]} outbox */
  constructor(outbox) {
    this.outbox = outbox;
    /** Keys of the present form of the draft. @type {string[]} */
    this.draftKeys = [];
    /** Keys that are to be taken out, and perhaps still there. @type {string[]} */
    this.replaced = [];
    /** Keys that the last write failed to store, in no form: they need not be taken out. @type {string[]} */
    this.unwritten = [];
  }

  /** Requests, in place of these keys. @param {Entry[]} entries @param {string[]} former @returns whether they are on the disk */
  put(entries, former) {
    this.draftKeys = without(this.draftKeys, [...entries.map(({ key }) => key), ...former]);
    return this._put(entries, former);
  }

  /** The draft, in place of its former form. @param {Entry[]} drafts */
  putDraft(drafts) {
    const former = this.draftKeys;
    this.draftKeys = drafts.map(({ key }) => key);
    return this._put(drafts, former);
  }

  /** @param {Entry[]} entries @param {string[]} former @returns {Promise<boolean>} */
  async _put(entries, former) {
    const own = entries.map(({ key }) => key);
    this.replaced = without([...this.replaced, ...former], [...own, ...this.draftKeys, ...this.unwritten]);
    const { replaced } = this;
    const kept = await this.outbox.put(entries, [...replaced, ...former]);
    this.unwritten = kept ? [] : without(own, former);
    if (kept) this.replaced = without(this.replaced, replaced);
    return kept;
  }
}

/**
 * A key is a credential, and may be replaced; but until the server has said whose it is, what a page stores has only the key to be
 * named by. So this browser notes the account of each key that it has used. What ended pages left under another key of the account
 * is taken over. What is of another account, or of one that is not known, stays where it is.
 */
import { accountScope } from "../util.js";
import { Heirs } from "./heirs.js";
import { mayBeOver } from "./outbox.js";

/**
 * @import { FormerKeysNeeds } from "../needs.d.ts"
 * @import { KeptDraft, KeptState } from "../types.d.ts"
 * @import { Stash } from "./outbox.js"
 *
 * @typedef {[string, string]} Known what the names of a key's storage begin with, and its account
 */

const NOTED = "stillhere:accounts";
const MOST_KEYS = 100;

export class FormerKeys {
  /** @param {FormerKeysNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    this.heirs = new Heirs();
  }

  /** The server said whose this page's key is. @param {string} account */
  async belongs(account) {
    const { http, scope, local } = this.needs;
    const { base, auth } = http;
    if (!auth.key) return;
    const own = accountScope(base, auth.key);
    const others = /** @type {Known[]} */ (local.get(NOTED) ?? []).filter(([key]) => key !== own);
    /** @type {Known[]} */
    const noted = [...others, [own, account]];
    local.set(NOTED, noted.slice(-MOST_KEYS));
    const place = scope.slice(scope.indexOf(":"));
    const former = noted.filter(([, of]) => of === account).map(([key]) => key + place);
    for (const from of former) if (from !== scope) await this._take(from);
  }

  close() {
    this.heirs.close();
  }

  /** @param {string} from */
  async _take(from) {
    const { local, outbox } = this.needs;
    // A copy of what the server has: this page has its own.
    local.remove(`stillhere:mirror:${from}`);
    await this._takeDrafts(from);
    const writers = new Map(await outbox.take(from));
    const stashes = /** @type {[string, Stash][]} */ (local.listed(stashName(from, "")));
    const states = /** @type {[string, KeptState][]} */ (local.listed(`stillhere:state:${from}:`));
    for (const [writer, { at = 0 }] of [...stashes, ...states]) writers.set(writer, Math.max(at, writers.get(writer) ?? 0));
    for (const [writer, at] of writers) if (mayBeOver(at)) this._takeLater(from, writer);
  }

  /** The newer draft stays. @param {string} from */
  async _takeDrafts(from) {
    const { local, storage } = this.needs;
    const prefix = `stillhere:draft:${from}:`;
    const kept = (await storage.listed(prefix)).map(([name, content]) => [name.slice(prefix.length), content]);
    const found = /** @type {[string, KeptDraft][]} */ ([...kept, ...local.listed(prefix)]);
    for (const [session, draft] of found) {
      const present = await storage.draft(session);
      if (draft.text && (present?.at ?? 0) < draft.at) await storage.keepDraft(session, draft);
      await this._forget(prefix + session);
    }
  }

  /** @param {string} from @param {string} writer whose page has ended */
  async _takeState(from, writer) {
    const { local, storage } = this.needs;
    const name = `stillhere:state:${from}:${writer}`;
    const found = /** @type {[string, KeptState][]} */ (await storage.listed(name));
    const kept = found[0]?.[1];
    const stashed = /** @type {KeptState | null} */ (local.get(name));
    const newest = (kept?.at ?? 0) < (stashed?.at ?? 1) ? (stashed ?? kept) : kept;
    if (newest) storage.keepState(writer, newest);
    await this._forget(name);
  }

  /** @param {string} name */
  _forget(name) {
    const { local, storage } = this.needs;
    local.remove(name);
    return storage.keep(name, null);
  }

  /** When its page has ended: until then it sends that itself. @param {string} from @param {string} writer */
  async _takeLater(from, writer) {
    const { scope, local, outbox, taken } = this.needs;
    let isTaken = false;
    await this.heirs.inherit(writer, async () => {
      await outbox.take(from, writer);
      const { entries = [], ...stash } = /** @type {Stash | null} */ (local.get(stashName(from, writer))) ?? {};
      const moved = { ...stash, entries: entries.map((entry) => ({ ...entry, scope })) };
      if (entries.length === 0 || local.set(stashName(scope, writer), moved)) local.remove(stashName(from, writer));
      await this._takeState(from, writer);
      isTaken = true;
    });
    if (!isTaken) return;
    await outbox.inherit(writer);
    await taken();
  }
}

/** @param {string} scope @param {string} writer */
const stashName = (scope, writer) => `stillhere:stash:${scope}:${writer}`;

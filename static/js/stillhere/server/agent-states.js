/**
 * An agent's state besides the messages. Saved states are sent in order and retried until they are acknowledged;
 * until then they are stored beside the mirror, and the next page sends them, unless somebody else saved one since.
 */
import { Heirs } from "../storage/heirs.js";
import { sleep, within } from "../util.js";
import { ApiError } from "./http.js";

/**
 * @import { AgentState, AgentStateFields, PendingAction } from "../../stillhere.js"
 * @import { StatesNeeds } from "../needs.d.ts"
 * @import { KeptState } from "../types.d.ts"
 *
 * @typedef {object} Due
 * @property {string | null} session
 * @property {AgentStateFields} fields
 * @property {boolean} replace
 * @property {number} rev of the state that it follows
 * @property {boolean} flying
 * @property {Promise<AgentState | null>} saved
 * @property {(state: AgentState | null) => void} resolve
 * @typedef {Pick<PendingAction, "kind" | "payload">} Seen The question that is answered, as it was read.
 * @typedef {PendingAction & {status: "resolved" | "expired", late?: true}} Resolved
 */

const KEEPALIVE_CHARACTERS = 15_000;
const KEPT_MS = 30 * 24 * 3600 * 1000;
const DYING_MS = 250;
const TOO_LATE = new Set(["already_resolved", "action_expired"]);

export class AgentStates {
  /** @param {StatesNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** The newest state that this page knows on the server. @type {AgentState | null} */
    this.known = null;
    /** @type {Due[]} */
    this.due = [];
    this.sending = false;
    this.closed = false;
    /** When this page saved which field. @type {Map<string, number>} */
    this.savedAt = new Map();
    /** The session whose state was read. @type {string | undefined} */
    this.adopted = undefined;
    this.adoptedAt = 0;
    /** Number of the newest read, and of the newest one that was answered. */
    this.reads = 0;
    this.answered = 0;
    this.heirs = new Heirs();
  }

  /** Including unacknowledged changes. @returns {AgentState | null} */
  get shown() {
    const { session } = this.needs.state;
    return this.due.filter((one) => one.session === session?.id).reduce(overlaid, this.known);
  }

  /** The server's present state. */
  async read() {
    const { http, state } = this.needs;
    const { session } = state;
    if (!session) return null;
    this.reads += 1;
    const number = this.reads;
    /** @type {() => Promise<AgentState | null>} */
    const ask = () =>
      http.get(pathOf(session.id)).catch((error) => {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        return null;
      });
    const found = await ask();
    // Not what is older than the answer to a later read.
    if (number > this.answered) this._learn(session.id, found);
    this.answered = Math.max(this.answered, number);
    return this.shown;
  }

  /**
   * Resolves with the server's state after the save; null if it was refused (event `refused`).
   * @param {AgentStateFields} fields @param {{replace?: boolean}} [options]
   */
  save(fields, { replace = false } = {}) {
    const session = this.needs.state.session?.id ?? null;
    const last = this.due.at(-1);
    const one = last && !last.flying && last.session === session ? last : this._begin(session);
    one.fields = replace ? fields : { ...one.fields, ...fields };
    one.replace ||= replace;
    for (const name of Object.keys(fields)) this.savedAt.set(name, Date.now());
    this._keep();
    this._send();
    return one.saved;
  }

  /** The page may be closing: waiting states are sent now, without waiting for answers. */
  flush() {
    for (const one of this.due) if (one.session && !one.flying) this._request(one.session, one).catch(() => {});
  }

  /**
   * Resolved once, by anybody; a later answer gets the first one (`late`), an expired one `status: "expired"`.
   * @param {"approve" | "reject"} decision @param {{action?: string, note?: string, seen?: Seen}} [options] @returns {Promise<Resolved>}
   */
  async resolve(decision, { action, note, seen } = {}) {
    const { http, state } = this.needs;
    const { session } = state;
    const id = action ?? (await this.read())?.pending_action?.id;
    if (!id || !session) throw new Error("There is no pending action to resolve.");
    const path = `${pathOf(session.id)}/pending-action/${encodeURIComponent(id)}`;
    try {
      /** @type {{body: Resolved}} */
      const { body } = await http.request("POST", `${path}/resolve`, { decision, note, seen });
      return body;
    } catch (error) {
      if (!(error instanceof ApiError) || !TOO_LATE.has(error.code)) throw error;
      /** @type {Resolved} */
      const resolved = await http.get(path);
      return { ...resolved, late: true };
    }
  }

  /**
   * The whole session was read, with this state. Unsent states of ended pages are sent if nobody saved one since; those of another
   * session wait until it is read, for a month.
   * @param {AgentState | null} known
   */
  async adopt(known) {
    this.known = known;
    const { storage, state, writer } = this.needs;
    this.adopted = state.session?.id;
    this.adoptedAt = performance.now();
    const left = (await storage.keptStates()).filter(([former]) => former !== writer);
    // A page that lives sends its own.
    const taken = left.map(([former]) => this.heirs.inherit(former, () => this._takeOver(former)));
    await within(Promise.all(taken), DYING_MS);
  }

  /** @param {string} former its writer */
  async _takeOver(former) {
    const { storage, state } = this.needs;
    const [, kept] = (await storage.keptStates()).find(([writer]) => writer === former) ?? [];
    if (!kept || this.adopted !== state.session?.id) return;
    const elsewhere = kept.session !== state.session?.id && !kept.any;
    if (elsewhere && Date.now() - (kept.at ?? 0) < KEPT_MS) return;
    // It lived on, and others may have saved a state meanwhile. If that cannot be read, the next page takes this one over.
    if (performance.now() - this.adoptedAt > DYING_MS) await this.read();
    storage.keepState(former, null);
    // What the ended page sent itself may be there, though its answer never came.
    const isSince = kept.rev !== (this.known?.rev ?? 0) && !(kept.sent && holds(this.known, kept.sent));
    if (!elsewhere && !isSince) this._saveKept(kept);
  }

  /** Without the fields that this page saved since. @param {KeptState} kept */
  _saveKept({ fields, replace, at = 1 }) {
    const names = Object.keys(fields);
    const older = names.filter((name) => (this.savedAt.get(name) ?? 0) >= at);
    const left = Object.fromEntries(Object.entries(fields).filter(([name]) => !older.includes(name)));
    if (older.length === names.length && names.length > 0) return;
    this.save(left, { replace: replace && older.length === 0 });
    for (const name of Object.keys(left)) this.savedAt.set(name, at);
  }

  /** The page shows another session: pending states still go to their own session. */
  forget() {
    this.known = null;
  }

  /** The session `from` is never made: states of all pages that were meant for it. @param {string} from @param {string} to */
  async join(from, to) {
    for (const one of this.due) if (one.session === from) one.session = to;
    const { storage, writer } = this.needs;
    const kept = await storage.keptStates();
    for (const [other, one] of kept)
      if (one.session === from && other !== writer) storage.keepState(other, { ...one, session: to });
    this._keep();
    if (this.adopted === to && kept.some(([, one]) => one.session === from)) await this.adopt(this.known);
  }

  close() {
    this.closed = true;
    this.heirs.close();
  }

  /** @param {string | null} session @param {AgentState | null} known */
  _learn(session, known) {
    if (session !== this.needs.state.session?.id) return;
    this.known = known;
    this.needs.learned();
  }

  /** @param {string | null} session */
  _begin(session) {
    /** @type {(state: AgentState | null) => void} */
    let resolve = () => {};
    /** @type {Promise<AgentState | null>} */
    const saved = new Promise((done) => {
      resolve = done;
    });
    /** @type {Due} */
    const one = { session, fields: {}, replace: false, rev: this.known?.rev ?? 0, flying: false, saved, resolve };
    this.due.push(one);
    return one;
  }

  async _send() {
    if (this.sending) return;
    this.sending = true;
    try {
      while (this.due.length > 0) {
        const [first] = this.due;
        const state = await this._attempt(first);
        if (this.closed) return;
        this.due.shift();
        if (state) this._learn(first.session, state);
        this._keep();
        first.resolve(state);
      }
    } finally {
      this.sending = false;
    }
  }

  /** @param {Due} one @returns {Promise<AgentState | null>} */
  async _attempt(one) {
    const { state, findOrCreate, retry, emit } = this.needs;
    if (!one.session && !state.session) await findOrCreate();
    one.session ??= state.session?.id ?? null;
    // The session must exist on the server; this page may have just created it, or gone to another one instead.
    while (one.session && this.needs.unmade(one.session) && !this.closed) await sleep(20);
    const { session } = one;
    if (!session) return null;
    one.flying = true;
    this._keep();
    /** @param {ApiError} error */
    const refused = (error) => emit("refused", { ...error.refusal, operations: [], state: one.fields });
    const answer = await retry.untilAnswered(() => this._request(session, one), { refused, wanted: () => !this.closed });
    return answer?.body ?? null;
  }

  /** @param {string} session @param {Pick<Due, "fields" | "replace">} one @returns {Promise<{body: AgentState}>} */
  _request(session, { fields, replace }) {
    const options = { keepalive: JSON.stringify(fields).length < KEEPALIVE_CHARACTERS };
    return this.needs.http.request(replace ? "PUT" : "PATCH", pathOf(session), fields, {}, options);
  }

  /** Stores unacknowledged states beside the mirror, merged into one. */
  _keep() {
    const { storage, writer, state } = this.needs;
    const [first] = this.due;
    if (!first) return storage.keepState(writer, null);
    const same = this.due.filter((one) => one.session === first.session);
    /** @type {AgentStateFields} */
    let fields = {};
    for (const one of same) fields = one.replace ? one.fields : { ...fields, ...one.fields };
    const replace = same.some((one) => one.replace);
    const any = first.session === null;
    const sent = first.flying ? first.fields : undefined;
    return storage.keepState(writer, { session: first.session ?? state.id, any, fields, replace, rev: first.rev, sent });
  }
}

/** @param {string} session */
const pathOf = (session) => `/sessions/${session}/agent-state`;

/** Does a state have these fields? @param {AgentState | null} state @param {AgentStateFields} fields */
function holds(state, fields) {
  const had = /** @type {Record<string, unknown>} */ (state ?? {});
  return Object.entries(fields).every(([name, value]) => inOrder(had[name] ?? null) === inOrder(value ?? null));
}

/** As JSON whose keys are sorted. @param {unknown} value */
const inOrder = (value) =>
  JSON.stringify(value, (_, one) => (isObject(one) ? Object.fromEntries(Object.entries(one).sort()) : one));

/** @param {unknown} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Null removes a field, as on the server.
 * @param {AgentState | null} state @param {{fields: AgentStateFields, replace: boolean}} change @returns {AgentState}
 */
export function overlaid(state, { fields, replace }) {
  const whole = replace ? fields : { ...state, ...fields };
  return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null));
}

/**
 * What an agent holds besides the messages. A state that is saved goes in its turn, again and again until it is answered;
 * until then it is kept beside the mirror, and the next page sends it, unless somebody else saved one since.
 */
import { ApiError, backoff } from "./http.js";
import { sleep } from "./tools.js";

const KEEPALIVE_CHARACTERS = 15_000;

export class States {
  /** @param {import("./link.js").Link} link */
  constructor(link) {
    this.link = link;
    /** The newest one that this page knows the server to have. */
    this.known = null;
    this.due = [];
  }

  /** With what is still under way to the server. */
  get shown() {
    const { session } = this.link;
    return this.due.filter((one) => one.session === session?.id).reduce(overlaid, this.known);
  }

  /** What the server has now. */
  async read() {
    const { session } = this.link;
    if (!session) return null;
    try {
      this._learn(session.id, await this.link.http.get(this._path(session.id)));
    } catch (error) {
      if (error.status !== 404) throw error;
      this._learn(session.id, null);
    }
    return this.shown;
  }

  /** Resolves with the state as the server has it then; null where it was refused (`refused` tells). */
  save(fields, { replace = false } = {}) {
    const session = this.link.session?.id ?? null;
    const last = this.due.at(-1);
    const one = last && !last.flying && last.session === session ? last : this._begin(session);
    one.fields = replace ? fields : { ...one.fields, ...fields };
    one.replace ||= replace;
    this._keep();
    this._send();
    return one.saved;
  }

  /** The page may not come back: what waits for its turn goes now, unanswered. */
  flush() {
    for (const one of this.due) if (one.session && !one.flying) this._request(one).catch(() => {});
  }

  /** Once, by whomever; a later answer gets the first one (`late`), one that is too late `status: "expired"`. */
  async resolve(decision, { action, note } = {}) {
    const { http, session } = this.link;
    const id = action ?? (await this.read())?.pending_action?.id;
    if (!id || !session) throw new Error("There is no pending action to resolve.");
    const path = `${this._path(session.id)}/pending-action/${encodeURIComponent(id)}`;
    try {
      return (await http.request("POST", `${path}/resolve`, { decision, ...(note ? { note } : {}) })).body;
    } catch (error) {
      if (error.code !== "already_resolved" && error.code !== "action_expired") throw error;
      return { ...(await http.get(path)), late: true };
    }
  }

  /** The session was read whole, with this state. What ended pages left goes on if nobody saved one since. */
  adopt(state) {
    this.known = state;
    const { storage, session, writer } = this.link;
    for (const [former, kept] of storage.keptStates()) {
      if (former === writer) continue;
      storage.keepState(former, null);
      if (kept.session !== session.id || kept.rev !== (state?.rev ?? 0)) continue;
      this.save(kept.fields, kept);
    }
  }

  /** The page shows another session: what is under way still goes to its own. */
  forget() {
    this.known = null;
  }

  _learn(session, state) {
    if (session !== this.link.session?.id) return;
    this.known = state;
    this.link.mirror();
  }

  _begin(session) {
    const one = { session, fields: {}, replace: false, rev: this.known?.rev ?? 0 };
    one.saved = new Promise((resolve) => {
      one.resolve = resolve;
    });
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
        if (this.link.closed) return;
        this.due.shift();
        if (state) this._learn(first.session, state);
        this._keep();
        first.resolve(state);
      }
    } finally {
      this.sending = false;
    }
  }

  async _attempt(one) {
    const { link } = this;
    if (!one.session && !link.session) await link._findOrCreate();
    one.session ??= link.session?.id ?? null;
    await this._made(one.session);
    one.flying = true;
    for (let failures = 1; one.session && !link.closed; failures += 1) {
      try {
        const { body } = await this._request(one);
        link.met(null);
        return body;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        link.met(error);
        if (!error.passing) {
          link.emit("refused", { status: error.status, code: error.code, message: error.message, operations: [], state: one.fields });
          return null;
        }
        await link._pause(backoff(failures, error.retryAfter));
      }
    }
    return null;
  }

  _request({ session, fields, replace }) {
    const options = { keepalive: JSON.stringify(fields).length < KEEPALIVE_CHARACTERS };
    return this.link.http.request(replace ? "PUT" : "PATCH", this._path(session), fields, {}, options);
  }

  /** The server has to have the session, which this page may have begun just now. */
  async _made(session) {
    const { link } = this;
    const asked = (entry) => entry.kind === "create" && entry.session === session && !entry.refused;
    while (link.waiting.some(asked) && !link.closed) await sleep(20);
  }

  /** Beside the mirror, as one: what the server did not acknowledge yet. */
  _keep() {
    const { storage, writer, session, provisional } = this.link;
    const [first] = this.due;
    if (!first) return storage.keepState(writer, null);
    const same = this.due.filter((one) => one.session === first.session);
    const fields = same.reduce((all, one) => (one.replace ? one.fields : { ...all, ...one.fields }), {});
    const replace = same.some((one) => one.replace);
    return storage.keepState(writer, { session: first.session ?? session?.id ?? provisional, fields, replace, rev: first.rev });
  }

  _path(session) {
    return `/sessions/${session}/agent-state`;
  }
}

/** Null takes a field out, as the server does it. */
export function overlaid(state, { fields, replace }) {
  const whole = replace ? fields : { ...state, ...fields };
  return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null));
}

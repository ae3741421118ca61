/** Getting the session from the server, whole or what changed, and bringing it together with what is still unsent. */
import { pending } from "./answers.js";
import { applied, takeDirty } from "./entries.js";
import { ApiError, backoff } from "./http.js";
import { overlaid } from "./states.js";
import { sleep } from "./tools.js";

const LEFTOVERS_MS = 2500;
const TOKEN_MS = 20 * 3600 * 1000;

export class Reader {
  /** @param {import("./link.js").Link} link */
  constructor(link) {
    this.link = link;
    this.bundle = null;
  }

  /** The mirrored session with what was not sent yet: synchronous, for frameworks that read their messages at mount. */
  peek() {
    const { link } = this;
    if (this.bundle || link.book.messages.size > 0) return this.state();
    const mirrored = link.storage.mirrored();
    const entries = link.storage.stashes().flatMap(([, content]) => content.entries ?? []);
    const session = mirrored?.session ?? null;
    const messages = applied(mirrored?.messages ?? [], entries, session);
    if (!session && messages.length === 0) return null;
    const openingStep = entries.findLast((entry) => entry.body.opening_step)?.body.opening_step ?? session?.opening_step ?? "";
    const kept = link.storage.keptStates().filter(([, one]) => one.session === session?.id);
    const agentState = kept.reduce((state, [, one]) => overlaid(state, one), mirrored?.agentState ?? null);
    const savedAt = mirrored?.savedAt ?? null;
    return { project: link.project, session, messages, openingStep, savedAt, agentState, mirrored: true };
  }

  /**
   * Send what earlier pages left, then read what there is. Without a server: the mirror, and the rest when it is back.
   * Rejects where this page is not let in: that there is nothing to show does not mean that nothing is saved.
   */
  async resume() {
    const { link } = this;
    link.log("attempting to restore", link.project);
    // What was said in this session goes to this session, whichever resumes now.
    while (link.session && link.unsent) await link._enqueue(takeDirty(link));
    await link.storage.adopt(link.writer);
    await link.sender.reconsider();
    await link.sender.drain(LEFTOVERS_MS);
    try {
      await this.open({ quiet: false });
      link.met(null);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      link.met(error);
      const peeked = this.peek();
      if (peeked?.messages.length && link.book.messages.size === 0) this._hold(peeked.messages);
      if (error.denied || !error.passing) throw error;
      this._resumeLater();
      return { ...(peeked ?? this.state()), mirrored: true };
    }
    return this._restored();
  }

  /** Tells the page, first of the session, then of the plan: both are there to be painted. */
  _restored() {
    const { link } = this;
    const state = this.state();
    link.log("session restored", state.savedAt);
    link.emit("restored", state);
    if (!this.bundle) return state;
    const { project, session } = link;
    const frame = { event_seq: this.bundle.event_cursor, project, session: session.id, epoch: session.epoch, rev: session.rev };
    link.emit("SESSION_RESTORED", { type: "SESSION_RESTORED", ...frame, data: this.bundle });
    const plan = state.agentState?.plan;
    if (plan) link.emit("PLAN_RESTORED", { type: "PLAN_RESTORED", ...frame, data: plan });
    return state;
  }

  async _resumeLater() {
    for (let failures = 2; !this.link.closed && !this.bundle; failures += 1) {
      await this.link._pause(backoff(failures));
      try {
        await this.link.sender.drain(LEFTOVERS_MS);
        await this.open({ quiet: false });
        this._restored();
        this.link.met(null);
        return;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.link.met(error);
        if (!error.passing) return;
      }
    }
  }

  /** Read the project's current session; answers whether there is one. */
  async open({ quiet }) {
    const { link } = this;
    const asked = { project: link.project, client: link.client, optional: "1", ...(quiet ? { quiet: "1" } : {}) };
    this.bundle = await link.http.get(`/resume?${new URLSearchParams(asked)}`);
    if (!this.bundle) {
      if (!link.session) link.storage.forgetMirror();
      link.live.follow();
      return Boolean(link.session);
    }
    await this.adopt(this.bundle.session, this.bundle.messages);
    link.states.adopt(this.bundle.agent_state);
    link.live.follow(this.bundle.event_cursor);
    return true;
  }

  state() {
    const { link } = this;
    const { ai_states: aiStates = [], handoff = null, app_state: appState = null } = this.bundle ?? {};
    const { session, openingStep, savedAt } = link;
    const skipped = this.bundle?.skipped ?? [];
    const common = { project: link.project, session, messages: link.book.list(), openingStep, savedAt, skipped };
    return { ...common, agentState: link.states.shown, aiStates, handoff, appState, mirrored: false };
  }

  /** There is a session now: whoever writes with a key needs a token for its last words. */
  async opened() {
    const { link } = this;
    link.live.follow();
    if (!link.http.auth.key || (link.flushTokenAt ?? 0) > Date.now() - TOKEN_MS) return;
    link.flushTokenAt = Date.now();
    try {
      const answer = await link.http.request("POST", `/sessions/${link.session.id}/flush-tokens`, {});
      link.flushToken = answer.body.flush_token;
    } catch (error) {
      link.flushTokenAt = 0;
      link.log("no flush token", error.message);
    }
  }

  /** Another page or agent made the first session, while this page had none. */
  async begun() {
    const { link } = this;
    if (link.session || link.unsent) return;
    const found = await this.patiently(() => this.open({ quiet: true }));
    if (found) link.emit("changed", { messages: link.book.list(), changed: [], removed: [] });
  }

  /** Read only what changed since. What this page is about to send stays as it is. */
  async catchUp() {
    if (this.link.present.some((entry) => entry.kind === "clear")) return;
    if (this.reading) {
      this.readAgain = true;
      return;
    }
    this.reading = true;
    try {
      do {
        this.readAgain = false;
        await this._readChanges();
      } while (this.readAgain && !this.link.closed);
    } finally {
      this.reading = false;
    }
  }

  /** The session anew, whole: it was started over, or that was taken back. */
  async again() {
    const { link } = this;
    const found = await this.patiently(() => link.http.get(`/sessions/${link.session.id}`));
    if (!found) return;
    await this.adopt(found.session, found.messages);
    link.emit("changed", { messages: link.book.list(), changed: [], removed: [] });
  }

  async _readChanges() {
    const { link } = this;
    const changed = [];
    const removed = [];
    for (let more = true; more && !link.closed; ) {
      const path = `/sessions/${link.session.id}/messages?limit=500&since_rev=${link.baseRev}`;
      const page = await this.patiently(() => link.http.get(path));
      if (!page) return;
      if (page.epoch !== link.session.epoch) return void link.startOver.found(page.epoch);
      for (const item of page.items) if (this._takeItem(item)) changed.push(item.id);
      for (const id of page.removed) if (!pending(link, id) && link.book.bury(id)) removed.push(id);
      more = page.more && page.rev > link.baseRev;
      link.baseRev = Math.max(link.baseRev, page.rev);
    }
    link.session.rev = Math.max(link.session.rev, link.baseRev);
    if (changed.length + removed.length === 0) return;
    link.emit("changed", { messages: link.book.list(), changed, removed });
    link.mirror();
  }

  _takeItem(item) {
    const { link } = this;
    if (!pending(link, item.id)) return link.book.fromServer(item);
    const shown = link.book.messages.get(item.id);
    if (shown) shown.position = item.position;
    return false;
  }

  async adopt(session, items) {
    const { link } = this;
    const queued = await link.storage.all();
    const former = link.session ?? link.storage.mirrored()?.session;
    const passed = former?.id === session.id && former.epoch !== session.epoch;
    // Not started over but restored from a backup, which lacks what was acknowledged since: this page says it again.
    const restored = passed && former.incarnation !== undefined && former.incarnation !== session.incarnation;
    const known = !restored ? [] : link.book.messages.size > 0 ? link.book.list() : (link.storage.mirrored()?.messages ?? []);
    const kept = passed ? [] : [...link.dirty.values()];
    link.session = { ...session };
    link.baseRev = session.rev;
    link.savedAt = session.updated_at;
    link.book.reset(items, { bury: passed && !restored });
    if (restored) {
      for (const operation of link.book.lost(known)) link.dirty.set(operation.id, operation);
      link.goOn();
    } else if (!passed) {
      const others = queued.filter((entry) => entry.writer !== link.writer && !entry.refused);
      for (const message of applied([], others, session)) link.book.overlay(message, false);
      const own = [...link.waiting, { session: session.id, body: { ops: kept, epoch: session.epoch } }];
      for (const message of applied([], own, session)) link.book.overlay(message, true);
    }
    link.mirror();
    await this.opened();
    return { restored, cleared: passed && !restored };
  }

  _hold(messages) {
    for (const message of messages) this.link.book.fromServer(message);
  }

  async patiently(ask) {
    for (let failures = 1; !this.link.closed; failures += 1) {
      try {
        const answer = await ask();
        this.link.met(null);
        return answer;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.link.met(error);
        if (!error.passing) {
          this.link.emit("refused", { status: error.status, code: error.code, message: error.message, operations: [] });
          return null;
        }
        await sleep(backoff(failures, error.retryAfter));
      }
    }
    return null;
  }
}

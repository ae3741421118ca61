/** What a page starts from: the mirror at once, then what the server has. */
import { writesOf } from "../sending/requests.js";
import { ApiError } from "../server/http.js";
import { contentOf, printOf } from "./message-content.js";

/**
 * @import { State, StoredMessage } from "../../stillhere.js"
 * @import { ResumeNeeds } from "../needs.d.ts"
 * @import { Entry } from "../types.d.ts"
 */

/** How long a page waits for what earlier pages left to be sent. */
export const LEFTOVERS_MS = 2500;

export class Resume {
  /** @param {ResumeNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** The mirrored session with unsent changes: synchronous, for frameworks that read their messages at mount. */
  peek() {
    const { store, reader, mirror, outbox } = this.needs;
    if (reader.shows) return reader.state();
    const peeked = mirror.restored(outbox.stashed());
    store.peeked(peeked?.messages ?? []);
    return peeked;
  }

  /**
   * Send what earlier pages left, then read the session. Without a server: the mirror, and the rest when it responds.
   * Rejects if access is denied: nothing to show does not mean that nothing is saved.
   * @returns {Promise<State>}
   */
  async resume() {
    const { identity, state, queue, outbox, sender, reader, retry, log } = this.needs;
    log("attempting to restore", identity.project);
    // Unsent messages of this session still go to it, whichever session resumes now.
    if (state.session) await queue.seal();
    await outbox.adopt(identity.writer);
    const left = await outbox.all();
    await sender.reconsider();
    await sender.drain(LEFTOVERS_MS);
    try {
      const found = await reader.open({ quiet: false });
      retry.met(null);
      if (found || !(await outbox.begun())) return this._restored();
      // An earlier page began one, and it could not be made until now.
      return this._goOn(await this._peekWhole(left));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      retry.met(error);
      const peeked = await this._peekWhole(left);
      if (error.passing && !error.denied) return this._goOn(peeked);
      throw error;
    }
  }

  /**
   * Show what the mirror and earlier pages have until the server has a session. What is written meanwhile belongs to the one that is
   * shown, also when this page ends before that. @param {State | null} peeked @returns {Promise<State>}
   */
  async _goOn(peeked) {
    const { identity, state, queue, outbox, reader } = this.needs;
    if (!state.session && peeked?.session) {
      const { id, project_id: made } = peeked.session;
      // A chat's session may turn out to be another one, which another device made.
      if (made || (identity.chat === undefined && (await outbox.begun(id)))) state.adopt(peeked.session);
      else state.goOnWith(id);
      queue.moved();
    }
    this._resumeLater();
    return { ...(peeked ?? reader.state()), mirrored: true };
  }

  /**
   * Like `peek`, with the requests in the outbox, which survive a killed browser. @param {Entry[]} left what was there at first: if it
   * was sent meanwhile, the mirror does not know that
   */
  async _peekWhole(left) {
    const { store, reader, mirror, outbox } = this.needs;
    const entries = await outbox.withStashes(left);
    if (reader.shows) return reader.state();
    const peeked = mirror.restored(entries);
    for (const message of peeked?.messages ?? []) store.fromServer(message);
    // What the mirror has may have been answered since, which its page did not hear.
    for (const [id, write] of Object.entries(mirror.read()?.writes ?? {})) store.sees(id, write);
    for (const [id, write] of writesOf(entries, peeked?.session ?? null)) store.sees(id, write);
    return peeked;
  }

  async _resumeLater() {
    const { state, queue, sender, reader, retry, othersMade } = this.needs;
    const ask = async () => {
      if (state.session) await queue.seal();
      await othersMade();
      await sender.drain(LEFTOVERS_MS);
      await this._openLate();
      return true;
    };
    await retry.pause(2);
    const read = await retry.untilAnswered(ask, { refused: () => {}, wanted: () => !reader.bundle, failures: 3 });
    // Perhaps a save read it first.
    if (read || (reader.bundle && !retry.closed)) this._restored();
  }

  /** The page shows a list already: it is told another one as it is told any change. */
  async _openLate() {
    const { store, reader } = this.needs;
    const known = printOfAll(store.list());
    const { tellings } = reader;
    await reader.open({ quiet: false });
    if (reader.tellings === tellings && printOfAll(store.list()) !== known) reader.tell();
  }

  /** Notifies the page, first of the session, then of the plan. */
  _restored() {
    const { identity, state, reader, emit, log } = this.needs;
    const restored = reader.state();
    log("session restored", restored.savedAt);
    emit("restored", restored);
    const { session } = state;
    const { bundle } = reader;
    if (!bundle || !session) return restored;
    const { project } = identity;
    const frame = { event_seq: bundle.event_cursor, project, session: session.id, epoch: session.epoch, rev: session.rev };
    emit("SESSION_RESTORED", { type: "SESSION_RESTORED", ...frame, data: bundle });
    const plan = restored.agentState?.plan;
    if (plan) emit("PLAN_RESTORED", { type: "PLAN_RESTORED", ...frame, data: plan });
    return restored;
  }
}

/** @param {StoredMessage[]} messages */
const printOfAll = (messages) =>
  JSON.stringify(messages.map((message) => [message.id, message.status, printOf(contentOf(message))]));

/** What a page starts from: the mirror at once, then what the server has. */
import { ApiError } from "../server/http.js";

/**
 * @import { State } from "../../stillhere.js"
 * @import { ResumeNeeds } from "../needs.d.ts"
 */

const LEFTOVERS_MS = 2500;

export class Resume {
  /** @param {ResumeNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** The mirrored session with unsent changes: synchronous, for frameworks that read their messages at mount. */
  peek() {
    const { reader, mirror, outbox } = this.needs;
    return reader.shows ? reader.state() : mirror.restored(outbox.stashed());
  }

  /**
   * Send what earlier pages left, then read the session. Without a server: the mirror, and the rest when it responds.
   * Rejects if access is denied: nothing to show does not mean that nothing is saved.
   * @returns {Promise<State>}
   */
  async resume() {
    const { identity, state, store, queue, outbox, sender, reader, retry, log } = this.needs;
    log("attempting to restore", identity.project);
    // Unsent messages of this session still go to it, whichever session resumes now.
    if (state.session) await queue.seal();
    await outbox.adopt(identity.writer);
    await sender.reconsider();
    await sender.drain(LEFTOVERS_MS);
    try {
      await reader.open({ quiet: false });
      retry.met(null);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      retry.met(error);
      const peeked = await this._peekWhole();
      if (store.messages.size === 0) for (const message of peeked?.messages ?? []) store.fromServer(message);
      if (error.denied || !error.passing) throw error;
      // What is written meanwhile belongs to the session that is shown, also when this page ends before the server is back.
      if (!state.session && peeked?.session?.project_id) state.adopt(peeked.session);
      this._resumeLater();
      return { ...(peeked ?? reader.state()), mirrored: true };
    }
    return this._restored();
  }

  /** Like `peek`, with the requests in the outbox, which survive a killed browser. */
  async _peekWhole() {
    const { reader, mirror, outbox } = this.needs;
    const entries = [...(await outbox.all()), ...outbox.stashed()];
    return reader.shows ? reader.state() : mirror.restored(entries);
  }

  async _resumeLater() {
    const { state, queue, sender, reader, retry } = this.needs;
    const ask = async () => {
      if (state.session) await queue.seal();
      await sender.drain(LEFTOVERS_MS);
      await reader.open({ quiet: false });
      this._restored();
    };
    await retry.pause(2);
    await retry.untilAnswered(ask, { refused: () => {}, wanted: () => !reader.bundle, failures: 3 });
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

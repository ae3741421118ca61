/** What the project's events mean for the session that this page shows. */

/**
 * @import { EventsNeeds } from "../needs.d.ts"
 * @import { GenerationFrame, SessionFrame } from "../types.d.ts"
 */

export class SessionEvents {
  /** @param {EventsNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    this.due = false;
    this.closed = false;
  }

  /** @param {SessionFrame} frame */
  take(frame) {
    const { state, reader, epochChange, answers, writer, emit } = this.needs;
    const { session: id, epoch = 0, rev = 0 } = frame;
    if (id) state.told(id, { epoch, rev });
    emit(frame.type, frame);
    const { session } = state;
    if (!session && frame.type === "SESSION_CREATED") reader.begun();
    if (frame.type === "RESYNC") this.missed();
    if (!session || frame.session !== session.id || frame.by?.writer_id === writer) return;
    if (frame.type.startsWith("GENERATION_")) answers.heard(/** @type {GenerationFrame} */ (frame));
    else if (frame.type === "SESSION_CLEARED") {
      if ((frame.epoch ?? 0) > (session.epoch ?? 0)) answers.leave();
      epochChange.pushed(frame.epoch ?? 0);
    } else if (frame.type === "SESSION_UPDATED" && frame.data?.undone) reader.again();
    else if (frame.type === "SESSION_SAVED" || frame.type === "SESSION_UPDATED") {
      if ((frame.rev ?? 0) > state.baseRev) this._behind();
    }
  }

  /** There is no event to continue from: all changes so far are read, or the session that was made meanwhile. */
  async missed() {
    const { state, queue, reader, outbox } = this.needs;
    if (!state.session) return void reader.begun();
    // Nobody else has changed one that is still to be made, by this page or for an earlier one.
    const { id, project_id: made } = state.session;
    const isOwn = queue.present.some((entry) => entry.kind === "create");
    if (made || !(isOwn || (await outbox.begun(id)))) this._behind();
  }

  close() {
    this.closed = true;
  }

  /** Changes by others are read when the page is visible: a hidden page makes no requests. */
  _behind() {
    if (!document.hidden) return void this.needs.catchUp.run();
    if (this.due) return;
    this.due = true;
    const seen = () => {
      this.due = false;
      if (!this.closed) this._behind();
    };
    document.addEventListener("visibilitychange", seen, { once: true });
  }
}

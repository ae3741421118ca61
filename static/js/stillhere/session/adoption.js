/** Merges a session that was read from the server with unsent changes of this browser. */
import { applied } from "../sending/requests.js";
import { textOf } from "./message-content.js";

/**
 * @import { Session } from "../../stillhere.js"
 * @import { AdoptionNeeds } from "../needs.d.ts"
 * @import { Entry, FoundSession } from "../types.d.ts"
 * @import { Adopted } from "./epoch-change.js"
 */

export class Adoption {
  /** @param {AdoptionNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** @param {FoundSession} found @returns {Promise<Adopted>} */
  async adopt({ session, messages: items, more }) {
    const { outbox, state, store, queue, mirror, olderMessages, epochChange, goOn, opened } = this.needs;
    const queued = await outbox.all();
    const former = state.session ?? mirror.read()?.session;
    const passed = former?.id === session.id && former.epoch !== session.epoch;
    const restored = passed && restoredSince(former, session);
    const cleared = passed && !restored;
    const known = restored ? this._known() : [];
    if (cleared && state.session) epochChange.handOver(session.epoch);
    state.adopt(session);
    const shown = this._known().findLast(({ status }) => status === "streaming");
    store.reset(items, { tombstones: cleared });
    // The stream of the answer will have that text, so it is not taken off the screen.
    if (shown && !passed) store.grow({ id: shown.id, text: textOf(shown) });
    olderMessages.begin(items, more);
    if (restored) {
      // This page saves missing messages again.
      queue.add(store.lost(known));
      goOn();
    } else this._overlay(session, queued);
    mirror.write();
    await opened();
    return { restored, cleared };
  }

  _known() {
    const { store, mirror } = this.needs;
    return store.messages.size > 0 ? store.list() : (mirror.read()?.messages ?? []);
  }

  /** @param {Session} session @param {Entry[]} queued by whichever page */
  _overlay(session, queued) {
    const { writer, store, queue } = this.needs;
    const others = queued.filter((entry) => entry.writer !== writer && !entry.refused);
    for (const message of applied([], others, session)) store.overlay(message, false);
    const said = { session: session.id, body: { ops: [...queue.operations.values()], epoch: session.epoch } };
    for (const message of applied([], [...queue.waiting, said], session)) store.overlay(message, true);
  }
}

/** Was the store restored from a backup, which lacks later acknowledged changes? @param {Session} known @param {Session} present */
function restoredSince(known, present) {
  return known.incarnation !== undefined && known.incarnation !== present.incarnation;
}

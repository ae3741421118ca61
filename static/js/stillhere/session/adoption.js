/** Merges a session that was read from the server with unsent changes of this browser. */
import { applied, takenOut, unanswered, writesOf } from "../sending/requests.js";
import { textOf } from "./message-content.js";
import { lost, restoredSince } from "./restored-store.js";

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

  /**
   * Null: this page knows more than was read, which is to be read again. Without waiting: what the module no longer takes from the
   * page, the page no longer shows when it can say anything.
   * @param {FoundSession} found @param {Entry[]} queued what is unsent in this browser
   * @param {{last?: boolean}} [options] `last`: it is taken nevertheless @returns {Adopted | null}
   */
  adopt({ session, messages, more }, queued, { last = false } = {}) {
    const { writer, chat, state, store, queue, mirror, olderMessages, epochChange, goOn, opened } = this.needs;
    const left = queued.filter((entry) => entry.writer !== writer);
    state.inherit(session.id, left);
    const epoch = queue.epochIn(session);
    if (!last && state.isNewer(session, epoch)) return null;
    const former = state.session ? { ...state.session, epoch: queue.epoch } : mirror.read()?.session;
    const passed = former?.id === session.id && former.epoch !== epoch;
    const restored = passed && restoredSince(former, session);
    const cleared = passed && !restored;
    const turned = chat === undefined && state.session !== null && state.session.id !== session.id;
    const known = restored ? this._known() : [];
    const moved = this._move(session);
    if (cleared && state.session) epochChange.handOver(session.epoch);
    // What was said in another session of the project, up to this moment, stays there.
    if (turned) queue.seal();
    const isFirst = state.session === null;
    state.adopt(session);
    if (isFirst) queue.moved();
    // What this page is about to clear is still there.
    const items = queue.clears ? [] : messages;
    const shown = this._known().findLast(({ status }) => status === "streaming");
    const vers = store.vers;
    store.reset(items, { tombstones: cleared || turned });
    // The stream of the answer will have that text, so it is not taken off the screen.
    if (shown && !passed) store.grow({ id: shown.id, text: textOf(shown) });
    olderMessages.begin(items, more && items === messages);
    if (restored) {
      // This page saves missing messages again.
      queue.add(lost(store, known));
      goOn();
    } else this._overlay({ ...session, epoch: queue.epoch }, left, vers);
    mirror.write();
    return { restored, cleared, turned, settled: moved.then(opened) };
  }

  /** What was written here before this session was found belongs to it. @param {Session} session */
  async _move(session) {
    const { chat, state, mirror, moved, carry } = this.needs;
    const before = state.session ?? mirror.read()?.session;
    // Of a chat there is one session: the one that was begun here is never made.
    const isBegun = chat !== undefined && before && !before.project_id && before.id !== session.id;
    if (!state.session && state.nextId !== session.id) await moved(state.nextId, session.id);
    else if (state.session && isBegun) return carry({ from: before.id, session });
    return isBegun && moved(before.id, session.id);
  }

  _known() {
    const { store, mirror } = this.needs;
    return store.messages.size > 0 ? store.list() : (mirror.read()?.messages ?? []);
  }

  /**
   * @param {Session} session in the epoch of the next request @param {Entry[]} left by other pages
   * @param {Map<string, number>} vers what this page knew when it said what is unsent: it has not seen what was read now
   */
  _overlay(session, left, vers) {
    const { store, queue, writer } = this.needs;
    const others = left.filter((entry) => !entry.refused);
    for (const message of applied([], others, session)) store.overlay(message, false);
    for (const id of takenOut(others, session)) store.takeOut(id);
    for (const [id, write] of writesOf(others, session)) if (!queue.holds(id)) store.sees(id, write);
    const own = unanswered({ session: session.id, writer, epoch: session.epoch }, queue);
    for (const message of applied([], own, session)) store.overlay(message, true, vers.get(message.id) ?? 0);
    for (const id of takenOut(own, session)) store.takeOut(id);
  }
}

/** The copy of the session in this browser: `peek()` reads it, and a page shows it while the server does not respond. */
import { applied, isCreation, writesOf } from "../sending/requests.js";
import { overlaid } from "../server/agent-states.js";

/**
 * @import { AgentState, Session, State } from "../../stillhere.js"
 * @import { MirrorNeeds } from "../needs.d.ts"
 * @import { Entry } from "../types.d.ts"
 */

const MIRROR_MS = 400;

export class Mirror {
  /** @param {MirrorNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  write() {
    const { state, store, storage, openingStep, epoch, unanswered, agentState, unread } = this.needs;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!state.session && store.messages.size === 0) return;
    // What a page says after a clear belongs to the next epoch, also if it is loaded before the server has the clear.
    const session = { ...(state.session ?? { id: state.id, rev: 0 }), epoch: epoch(), opening_step: openingStep() };
    const messages = store.list();
    const total = messages.length + unread();
    const writes = Object.fromEntries(writesOf(unanswered(), session));
    storage.mirror({ session, messages, total, writes, savedAt: state.savedAt, agentState: agentState() });
  }

  writeSoon() {
    this.timer ??= setTimeout(() => this.write(), MIRROR_MS);
  }

  read() {
    return this.needs.storage.mirrored();
  }

  forget() {
    this.needs.storage.forgetMirror();
  }

  /** With these requests applied; null if there is neither. @param {Entry[]} entries @returns {State | null} */
  restored(entries) {
    const { project, storage } = this.needs;
    const mirrored = this.read();
    const session = mirrored?.session ?? begunBy(entries, project);
    const messages = applied(mirrored?.messages ?? [], entries, session);
    if (!session && messages.length === 0) return null;
    const openingStep = entries.findLast((entry) => entry.body.opening_step)?.body.opening_step ?? session?.opening_step ?? "";
    const kept = storage.stashedStates().filter(([, one]) => one.session === session?.id);
    const known = mirrored?.agentState ?? null;
    const agentState = kept.reduce((/** @type {AgentState | null} */ state, [, one]) => overlaid(state, one), known);
    const savedAt = mirrored?.savedAt ?? null;
    const total = Math.max(messages.length, mirrored?.total ?? session?.message_count ?? 0);
    return { project, session, messages, total, openingStep, savedAt, agentState, mirrored: true };
  }

  close() {
    clearTimeout(this.timer);
  }
}

/**
 * The session that pages began which ended before they wrote a mirror: of several the last one, which would be the current one.
 * @param {Entry[]} entries @param {string} project @returns {Session | null}
 */
function begunBy(entries, project) {
  const creation = entries.findLast(isCreation);
  if (!creation?.session) return null;
  return { id: creation.session, epoch: 1, rev: 0, opening_step: creation.body.opening_step ?? "", project };
}

/** Reads the whole session and returns the state to show. */

/**
 * @import { State, StoredMessage } from "../../stillhere.js"
 * @import { ReaderNeeds } from "../needs.d.ts"
 * @import { Bundle, FoundSession } from "../types.d.ts"
 */

const MOST_READS = 5;

export class SessionReader {
  /** @param {ReaderNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** The result of the last resume. @type {Bundle | null} */
    this.bundle = null;
    /** How often the page has begun a session. */
    this.turns = 0;
    /** How often the page was told a list that was read. */
    this.tellings = 0;
  }

  /** Is there anything to show? */
  get shows() {
    return this.bundle !== null || this.needs.store.messages.size > 0;
  }

  /**
   * Read the chat's session, or the project's current one. @returns {Promise<boolean>} whether there is one
   * @param {{quiet: boolean}} options `quiet`: nobody resumed, so nobody is notified
   */
  async open({ quiet }) {
    const { identity, http, state, outbox, mirror, agentStates, events } = this.needs;
    const { project, chat, client } = identity;
    const asked = new URLSearchParams({ project, client, optional: "1", ...(quiet ? { quiet: "1" } : {}) });
    if (chat !== undefined) asked.set("external_id", chat);
    const { turns } = this;
    /** @type {() => Promise<Bundle | null>} */
    const ask = () => http.get(`/resume?${asked}`);
    const adopted = await this._read(ask, (found) => {
      // A page that began a session meanwhile stays in it.
      if (turns !== this.turns) return false;
      this.bundle = found;
      return true;
    });
    if (adopted?.cleared || adopted?.turned) this.tell();
    await adopted?.settled;
    if (!this.bundle) {
      // The mirror may be of one that is still to be made.
      if (!state.session && !(await outbox.begun())) mirror.forget();
      events.follow();
      return Boolean(state.session);
    }
    const { agent_state: agentState, event_cursor: cursor } = this.bundle;
    await agentStates.adopt(agentState);
    events.follow(cursor);
    return true;
  }

  /** The next session starts without this one's data. */
  forget() {
    this.bundle = null;
    this.turns += 1;
  }

  /** @returns {State} */
  state() {
    const { identity, state, store, queue, olderMessages, agentStates } = this.needs;
    const { ai_states: aiStates = [], handoff = null, app_state: appState = null, skipped = [] } = this.bundle ?? {};
    const { session, savedAt } = state;
    const messages = store.tell();
    const total = messages.length + olderMessages.unread;
    const common = { project: identity.project, session, messages, total, openingStep: queue.openingStep, savedAt, skipped };
    return { ...common, agentState: agentStates.shown, aiStates, handoff, appState, mirrored: false };
  }

  /** Another page or agent created the first session, while this page had none. */
  async begun() {
    const { state, queue, outbox } = this.needs;
    // The page shows one that is still to be made: it will be the project's last.
    if (state.isContinued && (await outbox.begun(state.nextId))) return;
    if (!state.session && !queue.unsent) await this.joined();
  }

  /** The chat's session is there already: another device made it. */
  joined() {
    return this.needs.patiently(() => this.find());
  }

  /** Reads the session that another page, device or agent made, and tells the page. Resolves with whether there is one. */
  async find() {
    const found = await this.open({ quiet: true });
    if (found) this.tell();
    return found;
  }

  /** Reads the whole session again. Null if it is refused, or the page turned to another one meanwhile. */
  async reread() {
    const { http, state, patiently } = this.needs;
    const { id } = state;
    /** @type {() => Promise<FoundSession | null>} */
    const ask = () => http.get(`/sessions/${id}`);
    return this._read(
      () => patiently(ask),
      () => state.id === id,
    );
  }

  /**
   * Read it, and again if a save or a clear of this page was faster than the answer. Null if there is nothing.
   * @template {FoundSession} T @param {() => Promise<T | null>} ask
   * @param {(found: T | null) => boolean} isWanted does the page still show what it was asked for? Nothing can change until it is adopted
   */
  async _read(ask, isWanted) {
    const { outbox, adoption } = this.needs;
    for (let left = MOST_READS; ; left -= 1) {
      const found = await ask();
      const queued = await outbox.all();
      if (!isWanted(found) || !found) return null;
      const adopted = adoption.adopt(found, queued, { last: left === 1 });
      if (adopted) return adopted;
    }
  }

  /** The same, after a clear was undone. */
  async again() {
    if (!(await this.reread())) return;
    this.needs.epochChange.undone();
    this.tell();
  }

  /** The present list, to the page. */
  tell() {
    this.tellings += 1;
    if (this.needs.epochChange.tellUnsent()) return;
    /** @type {{messages: StoredMessage[], changed: string[], removed: string[]}} */
    const detail = { messages: this.needs.store.tell(), changed: [], removed: [] };
    this.needs.emit("changed", detail);
  }
}

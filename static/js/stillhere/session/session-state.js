/** The session that this page shows, and how much of it is known. Nothing else writes these fields. */
import { uuid } from "../util.js";

/**
 * @import { Session } from "../../stillhere.js"
 * @import { EpochAnswer, SaveAnswer } from "../types.d.ts"
 */

export class SessionState {
  constructor() {
    /** @type {Session | null} */
    this.session = null;
    /** The id of the next session that this page creates. */
    this.nextId = uuid();
    /** The revision up to which all changes are known. */
    this.baseRev = 0;
    /** @type {string | null} RFC 3339 */
    this.savedAt = null;
  }

  /** The session's id; before it is created, its future id. */
  get id() {
    return this.session?.id ?? this.nextId;
  }

  /** A new session, which the server has not created yet. @param {string} project @param {string} openingStep */
  begin(project, openingStep) {
    this.session = { id: this.nextId, epoch: 1, rev: 0, opening_step: openingStep, project };
    this.nextId = uuid();
    this.baseRev = 0;
    this.savedAt = null;
  }

  /** The server created the session. @param {Partial<Session>} created */
  created(created) {
    if (this.session) Object.assign(this.session, created, { opening_step: this.session.opening_step });
  }

  /** The whole session was read. @param {Session} session */
  adopt(session) {
    this.session = { ...session };
    this.baseRev = session.rev;
    this.savedAt = session.updated_at ?? null;
  }

  /** @param {string | null | undefined} head */
  atHead(head) {
    if (this.session) this.session.head = head;
  }

  /** @param {string} openingStep */
  atStep(openingStep) {
    if (this.session) this.session.opening_step = openingStep;
  }

  /**
   * A save was acknowledged. @param {SaveAnswer} answer
   * @returns {"next" | "known" | "behind"} `next`: nothing happened between it and what was known; `behind`: something did
   */
  saved({ saved_at, rev, prev_rev, conflicts }) {
    this.savedAt = saved_at;
    if (this.session) this.session.rev = Math.max(this.session.rev, rev);
    if (prev_rev !== this.baseRev || conflicts.length > 0) return rev > this.baseRev ? "behind" : "known";
    this.baseRev = rev;
    return "next";
  }

  /** A clear (`empty`) or its undo was acknowledged. @param {EpochAnswer} answer @param {boolean} empty */
  startedOver({ epoch, rev, saved_at }, empty) {
    this.savedAt = saved_at;
    if (empty) this.baseRev = rev;
    if (this.session) Object.assign(this.session, { epoch, rev });
  }

  /** All changes up to this revision were read. @param {number} rev */
  caughtUp(rev) {
    this.baseRev = Math.max(this.baseRev, rev);
  }

  /** Every change was read. */
  isCurrent() {
    if (this.session) this.session.rev = Math.max(this.session.rev, this.baseRev);
  }
}

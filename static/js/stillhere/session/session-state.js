/** The session that this page shows, and how much of it is known. Nothing else writes these fields. */
import { uuid } from "../util.js";

/**
 * @import { Session } from "../../stillhere.js"
 * @import { Entry, EpochAnswer, Joined, SaveAnswer } from "../types.d.ts"
 * @typedef {{epoch: number, rev: number}} Progress
 */

const MOST_TOLD = 100;

export class SessionState {
  constructor() {
    /** @type {Session | null} */
    this.session = null;
    /** The id of the next session that this page creates. */
    this.nextId = uuid();
    /** Did an earlier page begin it? */
    this.isContinued = false;
    /** The revision up to which all changes are known. */
    this.baseRev = 0;
    /** @type {string | null} RFC 3339 */
    this.savedAt = null;
    /** Clears of this session that other pages left, until they are answered. @type {Entry[]} */
    this.inherited = [];
    /** The session that they are of, or would be. */
    this.heirOf = "";
    /** How far events and answers said that each session has come; the last told at the end. @type {Map<string, Progress>} */
    this.progress = new Map();
  }

  /** The session's id; before it is created, its future id. */
  get id() {
    return this.session?.id ?? this.nextId;
  }

  /** A new session, which the server has not created yet. @param {string} project @param {string} openingStep */
  begin(project, openingStep) {
    this.session = { id: this.nextId, epoch: 1, rev: 0, opening_step: openingStep, project };
    this.heirOf = this.nextId;
    this._next();
    this.baseRev = 0;
    this.savedAt = null;
  }

  /** An earlier page began this session, and the server has not made it yet: this page goes on with it. @param {string} id */
  goOnWith(id) {
    this.nextId = id;
    this.isContinued = true;
  }

  /** The session that this page begins next is not one that an earlier page began. */
  beginAnew() {
    if (this.isContinued) this._next();
  }

  _next() {
    this.nextId = uuid();
    this.isContinued = false;
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
    if (this.nextId === session.id) this._next();
  }

  /**
   * What this page showed from its start was cleared already: it goes on in the epoch after those clears. A clear that another page
   * makes later comes as news. @param {string} session @param {Entry[]} left what other pages have not sent
   */
  inherit(session, left) {
    if (this.heirOf === session) return;
    this.heirOf = session;
    this.inherited = left.filter(({ kind, session: of, refused }) => kind === "clear" && of === session && !refused);
  }

  /** @param {string} key @returns {Entry | undefined} the inherited clear that was answered or refused */
  inheritedAnswer(key) {
    const answered = this.inherited.find((entry) => entry.key === key);
    this.inherited = this.inherited.filter((entry) => entry !== answered);
    return answered;
  }

  /**
   * The session `from` is never made; of the one that is there instead nothing else is known yet. @param {Joined} joined
   * @returns {boolean} whether this page shows it
   */
  join({ from, session }) {
    if (this.nextId === from) this._next();
    if (this.session?.id !== from) return false;
    this.session = { ...session };
    this.baseRev = 0;
    return true;
  }

  /** An event or an answer said how far a session has come; this page may not show it yet. @param {string} id @param {Progress} told */
  told(id, told) {
    const known = this.progress.get(id);
    if (known && !isBefore(known, told)) return;
    this.progress.delete(id);
    this.progress.set(id, told);
    const [oldest] = this.progress.keys();
    if (this.progress.size > MOST_TOLD) this.progress.delete(oldest);
  }

  /**
   * Was a session read before something that this page knows of it? @param {Session} read
   * @param {number} epoch of it, with the clears that the server does not have yet
   */
  isNewer(read, epoch) {
    const told = this.progress.get(read.id);
    if (told && isBefore(read, told)) return true;
    if (this.session?.id !== read.id || this.session.incarnation !== read.incarnation) return false;
    return epoch < this.session.epoch || read.rev < this.session.rev;
  }

  /** Are there changes that this page has not read? */
  get isBehind() {
    const { session, baseRev } = this;
    const told = session && this.progress.get(session.id);
    return Boolean(told && isBefore({ epoch: session.epoch, rev: baseRev }, told));
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
    if (epoch < (this.session?.epoch ?? 1)) return;
    this.savedAt = saved_at;
    if (empty) this.baseRev = rev;
    if (this.session) Object.assign(this.session, { epoch, rev });
  }

  /** Somebody started it over. @param {number} epoch */
  inEpoch(epoch) {
    if (this.session) this.session.epoch = Math.max(this.session.epoch, epoch);
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

/** A restored session has a higher epoch than any before, and may have a lower revision. @param {Progress} one @param {Progress} other */
function isBefore(one, other) {
  return one.epoch < other.epoch || (one.epoch === other.epoch && one.rev < other.rev);
}

/**
 * Which session is the project's current one. A page stays with the session that it shows: if another one becomes current
 * (a fork, a new session, a choice made elsewhere), the page offers to open it.
 */
import { untilRead } from "../../pages/live/reading.js";

/**
 * @import { Connection, Frame, Session } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { Notices } from "../notices.js"
 */

const CAUSE = "current";

export class CurrentSession {
  /**
   * @param {{chat: Connection, api: Api, notices: Notices, open: () => Promise<unknown>, leave: () => void}} page
   *   `open`: go to the current session; `leave`: what is typed stays with the former one
   */
  constructor({ chat, api, notices, open, leave }) {
    this.chat = chat;
    this.api = api;
    this.notices = notices;
    this.open = open;
    this.leave = leave;
    /** @type {string | null} */
    this.offered = null;
    /** @type {string | null} */
    this.declined = null;
    /** How many times the page is on its way to another session. */
    this.moving = 0;
    /** Number of the newest question: what a former one is answered may be over. */
    this.asked = 0;
    this.look = untilRead(() => this._look());
    /** @param {Frame} frame */
    const heard = ({ session }) => this._concerns(session) && this.look();
    chat.on("SESSION_CREATED", heard);
    chat.on("SESSION_UPDATED", heard);
    chat.on("SESSION_DELETED", heard);
  }

  /** The page shows another session now. */
  forget() {
    this.offered = this.declined = null;
    this.notices.clear(CAUSE);
  }

  /** Makes a session the current one and opens it. @param {string} id */
  choose(id) {
    return this.during(async () => {
      await this.chat.settled(3000);
      await this.api.call("PATCH", `/sessions/${id}`, { current: true });
      this.leave();
      await this.open();
    });
  }

  /**
   * Goes to another session. What becomes current on the way is what the page goes to, so it is not offered; only afterwards the
   * page asks whether it shows the current one. @param {() => Promise<unknown>} act
   */
  async during(act) {
    this.moving += 1;
    this.asked += 1;
    try {
      await act();
    } finally {
      this.moving -= 1;
      if (!this.moving) this.look();
    }
  }

  /** @param {string | undefined} session */
  _concerns(session) {
    const own = this.chat.session;
    return own && !this.moving && (session !== own.id || this.offered);
  }

  async _look() {
    const own = this.chat.session;
    if (!own?.project_id || this.moving) return;
    this.asked += 1;
    const number = this.asked;
    const isOver = () => number !== this.asked || this.chat.session?.id !== own.id;
    /** @type {{current_session: string | null}} */
    const { current_session: current } = await this.api.get(`/projects/${own.project_id}`);
    if (isOver()) return;
    if (!current || current === own.id) return void this.forget();
    if (current === this.declined || current === this.offered) return;
    /** @type {{session: Session}} */
    const { session } = await this.api.get(`/sessions/${current}?messages=0`);
    if (!isOver()) this._offer(session);
  }

  /** @param {Session} session */
  _offer({ id, title }) {
    this.offered = id;
    const words = `Another session is the current one now${title ? `: “${title}”` : ""}. This page stays in its session.`;
    const stay = () => {
      this.notices.clear(CAUSE);
      this.declined = id;
      this.offered = null;
    };
    this.notices.say(CAUSE, words, [
      { label: "Open it", act: this.open },
      { label: "Stay here", act: stay },
    ]);
  }
}

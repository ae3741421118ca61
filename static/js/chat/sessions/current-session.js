/**
 * Which session is the project's current one. A page stays with the session that it shows: if another one becomes current
 * (a fork, a new session, a choice made elsewhere), the page offers to open it.
 */
import { whenSeen } from "../../pages/event-stream.js";

/**
 * @import { Connection, Frame, Session } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { Notices } from "../notices.js"
 */

const CAUSE = "current";

export class CurrentSession {
  /** @param {{chat: Connection, api: Api, notices: Notices, open: () => void}} page `open`: go to the current session */
  constructor({ chat, api, notices, open }) {
    this.chat = chat;
    this.api = api;
    this.notices = notices;
    this.open = open;
    /** @type {string | null} */
    this.offered = null;
    /** @type {string | null} */
    this.declined = null;
    this.look = whenSeen(() => this._look().catch(() => {}));
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

  /** @param {string | undefined} session */
  _concerns(session) {
    const own = this.chat.session;
    return own && (session !== own.id || this.offered);
  }

  async _look() {
    const own = this.chat.session;
    if (!own?.project_id) return;
    /** @type {{current_session: string | null}} */
    const { current_session: current } = await this.api.get(`/projects/${own.project_id}`);
    if (this.chat.session !== own) return;
    if (!current || current === own.id) return void this.forget();
    if (current === this.declined || current === this.offered) return;
    /** @type {{session: Session}} */
    const { session } = await this.api.get(`/sessions/${current}?messages=0`);
    if (this.chat.session === own) this._offer(session);
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

/** The session's title: shown as the heading, changed in place. A session without one gets its first words. */
import { byId, composes, messageOf } from "../../pages/elements.js";
import { untilRead } from "../../pages/live/reading.js";
import { Refused } from "../api.js";
import { titleOf } from "../messages/message-parts.js";

/**
 * @import { Connection, Frame, Session } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { PageMessage } from "../messages/message-parts.js"
 * @typedef {{chat: Connection, api: Api, alert: (words: string) => void, focus: () => void, changed: () => void}} Needs
 */

const NONE = "Chat";

export class SessionTitle {
  /** @param {Needs} needs `focus`: of the composer, after a change; `changed`: somebody else changed the session's fields */
  constructor(needs) {
    this.needs = needs;
    /** Sessions that got a title from this page. @type {WeakSet<Session>} */
    this.titled = new WeakSet();
    /** What others changed is read: the title and the metadata. */
    this.look = untilRead(() => this._look());
    /** The session whose title is being written. @type {string | undefined} */
    this.edited = undefined;
    /** The title that is replaced by what is written. */
    this.seen = "";
    this.named = "";
    /** Number of the newest look at what others changed: a late answer to a former one is ignored. */
    this.looked = 0;
    needs.chat.on("SESSION_UPDATED", (/** @type {Frame} */ { session }) => session === needs.chat.session?.id && this.look());
    needs.chat.on("RESYNC", this.look);
    this.heading = byId("chat-title", HTMLElement);
    this.button = byId("chat-rename", HTMLButtonElement);
    this.form = byId("chat-title-form", HTMLFormElement);
    this.field = byId("chat-title-field", HTMLInputElement);
    this.button.addEventListener("click", () => this._edit());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this._rename();
    });
    this.field.addEventListener("keydown", (event) => event.key === "Escape" && !composes(event) && this._close());
  }

  /** @param {PageMessage[]} [messages] of a session without a title, which is called by its first question as in lists */
  show(messages) {
    if (messages) this.named = this.needs.chat.unread ? "" : titleOf(messages);
    // A title that is being written belongs to the session that was shown.
    if (!this.form.hidden && this.edited !== this.needs.chat.session?.id) this._open(false);
    const title = this.needs.chat.session?.title || this.named || NONE;
    if (this.heading.textContent !== title) this.heading.textContent = title;
    this.button.hidden = !this.needs.chat.session || !this.form.hidden;
  }

  /** @param {PageMessage[]} messages */
  give(messages) {
    const { session } = this.needs.chat;
    if (!session || session.title || this.titled.has(session)) return;
    const title = titleOf(messages);
    if (!title) return;
    this.titled.add(session);
    this._save(session, title, "").catch(() => {});
  }

  async _look() {
    const own = this.needs.chat.session;
    if (!own) return;
    this.looked += 1;
    const number = this.looked;
    /** @type {{session: Session}} */
    const found = await this.needs.api.get(`/sessions/${own.id}?messages=0`);
    if (number !== this.looked) return;
    own.title = found.session.title;
    own.metadata = found.session.metadata;
    this.show();
    this.needs.changed();
  }

  _edit() {
    this.edited = this.needs.chat.session?.id;
    this.field.value = this.seen = this.needs.chat.session?.title ?? "";
    this._open(true);
    this.field.select();
  }

  /** @param {boolean} open */
  _open(open) {
    this.form.hidden = !open;
    this.heading.hidden = this.button.hidden = open;
  }

  _close() {
    this._open(false);
    this.show();
    this.button.focus();
  }

  async _rename() {
    const { session } = this.needs.chat;
    try {
      if (session) await this._save(session, this.field.value.trim(), this.seen);
      this._open(false);
      this.show();
      this.needs.focus();
    } catch (error) {
      if (error instanceof Refused && error.code === "title_changed") this.seen = String(error.details.title);
      this.needs.alert(`Not renamed: ${messageOf(error)}`);
    }
  }

  /** @param {Session} session @param {string} title @param {string} seen the title that it replaces */
  async _save(session, title, seen) {
    await this.needs.api.call("PATCH", `/sessions/${session.id}`, { title, if_title: seen });
    session.title = title;
    this.show();
  }
}

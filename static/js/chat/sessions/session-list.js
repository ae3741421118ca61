/**
 * The project's sessions beside the chat, by day. A session that is opened becomes the project's current one. Without a
 * connection a row is a link to the session's own page, which this browser may have.
 */
import { all, byId, focusOn, one } from "../../pages/elements.js";
import { whenSeen } from "../../pages/live/event-stream.js";
import { byDay } from "./days.js";

/**
 * @import { Connection } from "../../stillhere.js"
 * @import { Api } from "../api.js"
 * @import { Listed } from "./days.js"
 *
 * @typedef {{items: Listed[], next: string | null}} Page
 * @typedef {{chat: Connection, api: Api, open: (id: string) => unknown, connected: () => boolean}} Needs
 */

const GENTLE_MS = 600;
const PAGE = 40;
const NEWS = /** @type {const} */ (["SESSION_CREATED", "SESSION_UPDATED", "SESSION_DELETED", "SESSION_SAVED"]);

export class SessionList {
  /** @param {Needs} needs `open`: shows a session in the chat */
  constructor(needs) {
    this.needs = needs;
    this.root = byId("chat-sessions", HTMLElement);
    this.rows = one(this.root, "#chat-sessions-rows", HTMLElement);
    this.state = one(this.root, "#chat-sessions-state", HTMLElement);
    this.more = one(this.root, "#chat-sessions-more", HTMLButtonElement);
    this.find = one(this.root, "#chat-sessions-find", HTMLInputElement);
    /** @type {Listed[]} */
    this.sessions = [];
    /** Of those without a title, by id. @type {Map<string, string>} */
    this.names = new Map();
    /** @type {string | null} */
    this.next = null;
    this.timer = 0;
    /** Number of the newest request: a late answer to a former one is ignored. */
    this.asked = 0;
    this.look = whenSeen(() => this._load());
    this.more.addEventListener("click", () => this._load(this.next));
    this.find.addEventListener("input", () => this.soon());
    this.rows.addEventListener("click", (event) => this._clicked(event));
    for (const news of NEWS) needs.chat.on(news, () => this.soon());
  }

  /** Something changed: the list is read again when it is seen. */
  soon() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.look();
    }, GENTLE_MS);
  }

  close() {
    if (this.root.matches(":popover-open")) this.root.hidePopover();
  }

  /** @param {MouseEvent} event */
  _clicked(event) {
    const { target, button } = event;
    const link = target instanceof Element ? target.closest("a") : null;
    const modified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || button !== 0 || modified || !this.needs.connected()) return;
    event.preventDefault();
    this.close();
    this.needs.open(link.dataset.id ?? "");
  }

  /** @param {string | null} [after] the cursor of further rows; left out: the list is read from its beginning */
  async _load(after) {
    this.asked += 1;
    const number = this.asked;
    const limit = after ? PAGE : Math.min(200, Math.max(PAGE, this.sessions.length));
    try {
      const project = await this._project();
      const asked = new URLSearchParams({ limit: String(limit), ...(after ? { cursor: after } : {}) });
      if (this.find.value.trim()) asked.set("q", this.find.value.trim());
      /** @type {Page} */
      const page = project ? await this.needs.api.get(`/projects/${project}/sessions?${asked}`) : { items: [], next: null };
      if (number !== this.asked) return;
      this.sessions = after ? [...this.sessions, ...page.items] : page.items;
      this.next = page.next;
      this._draw();
      await this._name(page.items);
      if (number === this.asked) this._draw();
    } catch {
      if (number === this.asked) this.state.textContent = "Not up to date: the server does not answer.";
    }
  }

  /** Sessions without a title are called by their first question. @param {Listed[]} sessions */
  async _name(sessions) {
    const untitled = sessions.filter(({ title }) => !title);
    if (!untitled.length) return;
    const answer = await fetch(`/chat/names?of=${untitled.map(({ id }) => id)}`).catch(() => null);
    /** @type {{names: Record<string, string>}} */
    const { names } = answer?.ok ? await answer.json().catch(() => ({ names: {} })) : { names: {} };
    for (const [id, name] of Object.entries(names)) this.names.set(id, name);
  }

  /** The project's id; "" before it exists. */
  async _project() {
    const { chat, api } = this.needs;
    if (chat.session?.project_id) return chat.session.project_id;
    /** @type {{items: {id: string}[]}} */
    const { items } = await api.get(`/projects?path=${encodeURIComponent(chat.project)}`);
    return items[0]?.id ?? "";
  }

  _draw() {
    // Messages have ids too.
    const focused = this.rows.querySelector("a:focus")?.getAttribute("data-id");
    const own = this.needs.chat.session?.id;
    for (const session of this.sessions) session.name = this.names.get(session.id);
    this.rows.replaceChildren(...byDay(this.sessions).flatMap(([day, sessions]) => group(day, sessions, own)));
    // A session that was deleted elsewhere has no row any more.
    if (focused) focusOn(all(this.rows, "a").find(({ dataset }) => dataset.id === focused) ?? this.find);
    this.more.hidden = !this.next;
    const none = this.find.value.trim() ? "No session says that." : "No sessions yet.";
    this.state.textContent = this.sessions.length ? "" : none;
  }
}

/** @param {string} day @param {Listed[]} sessions @param {string | undefined} own the one that the chat shows */
function group(day, sessions, own) {
  const heading = Object.assign(document.createElement("h3"), { textContent: day });
  const list = Object.assign(document.createElement("ul"), { className: "nav" });
  list.append(...sessions.map((session) => row(session, session.id === own)));
  return [heading, list];
}

/** @param {Listed} session @param {boolean} isShown */
function row({ id, title, name, updated_at }, isShown) {
  const words = title || name || "Untitled session";
  const item = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href: `/sessions/${id}/`, title: words });
  link.dataset.id = id;
  if (isShown) link.ariaCurrent = "true";
  const time = Object.assign(document.createElement("time"), { dateTime: updated_at, className: "hint" });
  time.textContent = new Date(updated_at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  link.append(Object.assign(document.createElement("span"), { textContent: words }), time);
  item.append(link);
  return item;
}

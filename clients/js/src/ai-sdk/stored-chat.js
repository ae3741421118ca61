/**
 * One chat as the AI SDK shows it and as Stillhere has it. Nothing is removed: what is written beside a known message begins
 * another version, and the former one stays.
 */
import { uuid } from "#browser";
import { isForeign, printOf, toStored, toUI } from "./ui-messages.js";

/**
 * @import { UIMessage } from "ai"
 * @import { Connection, Message, Siblings, Status, StoredMessage } from "#browser"
 * @import { Home } from "./home.js"
 */

const ACKNOWLEDGED_MS = 1500;

export class StoredChat {
  /** @param {Connection} connection */
  constructor(connection) {
    this.connection = connection;
    /** As the connection has it. @type {(StoredMessage | Message)[]} */
    this.list = connection.peek()?.messages ?? [];
    /** Messages that were edited keep their id in the page: their stored ids by these. @type {Map<string, string>} */
    this.aliases = new Map();
    /** Messages of the page that need no look. @type {WeakSet<UIMessage>} */
    this.known = new WeakSet();
    /** Answers that come. @type {Set<{flush: () => void}>} */
    this.coming = new Set();
    /** Ids of the answers that came in this page. @type {Set<string>} */
    this.recorded = new Set();
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    this.loaded = false;
    /** Why the server's messages cannot be shown, or what it refused to store. @type {unknown} */
    this.error = null;
    /** @type {Promise<void> | undefined} */
    this.loading = undefined;
    const take = (/** @type {{messages: StoredMessage[]}} */ news) => this._take(news.messages);
    this.unheard = [
      ...[connection.on("restored", take), connection.on("changed", take), connection.on("cleared", take)],
      ...[connection.on("refused", (refused) => this._refused(refused)), connection.on("saved", () => this._saved())],
    ];
    this.leave = () => this.flush();
    // Before the connection sends what it has.
    globalThis.addEventListener?.("pagehide", this.leave, true);
    globalThis.addEventListener?.("visibilitychange", this.leave, true);
  }

  /** As the page shows them. @returns {UIMessage[]} */
  get messages() {
    const shownIds = new Map([...this.aliases].map(([shown, stored]) => [stored, shown]));
    const messages = this.list.flatMap((message) => toUI({ ...message, id: shownIds.get(message.id) ?? message.id }) ?? []);
    for (const message of messages) this.known.add(message);
    return messages;
  }

  /** Reads what the server has. Resolves also if that failed: see `error`. */
  load() {
    this.loading ??= this.connection.resume().then(
      ({ messages }) => this._loaded(messages, null),
      (error) => this._loaded(this.list, error),
    );
    return this.loading;
  }

  /** @param {() => void} listener is told of news by others, and when an answer is over @returns {() => void} ends it */
  onNews(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  tell() {
    for (const listener of [...this.listeners]) listener();
  }

  /** Reads the messages before the oldest one. @param {number} [limit] @returns {Promise<boolean>} whether there are more */
  async older(limit) {
    const { messages, more } = await this.connection.older(limit);
    this._take(messages);
    return more;
  }

  /** @param {string} shown @returns {Siblings | null} */
  versionsOf(shown) {
    const stored = /** @type {StoredMessage | undefined} */ (this.stored(shown));
    return stored?.siblings ?? null;
  }

  /**
   * What a stored message follows; null: nothing. The oldest one that is loaded may follow one that is not: that is read.
   * @param {string} shown its id
   */
  async before(shown) {
    const place = () => this.list.findIndex(({ id }) => id === this.idOf(shown));
    if (place() === 0 && this.connection.unread > 0) await this.older(1).catch(() => {});
    const at = place();
    // Unknown while the server is away: a version that follows nothing would take all that is older out. So it comes last.
    const isUnknown = at < 0 || (at === 0 && this.connection.unread > 0);
    return (isUnknown ? this.list.at(-1) : this.list[at - 1])?.id ?? null;
  }

  /** Shows another version. @param {string} id as it is stored */
  async show(id) {
    this._take(await this.connection.moveHead(id));
  }

  /** The page shows all messages by their stored ids again. */
  forgetAliases() {
    this.aliases.clear();
  }

  /** The stored id of a message of the page. @param {string} shown its id */
  idOf(shown) {
    return this.aliases.get(shown) ?? shown;
  }

  /** The message that a message of the page is stored as. @param {string} shown its id */
  stored(shown) {
    const id = this.idOf(shown);
    return this.list.find((message) => message.id === id);
  }

  /** From now on a message of the page is another version: what was stored under its id stays. @param {string} shown its id */
  branch(shown) {
    this.aliases.set(shown, uuid());
  }

  /**
   * Saves what is new or different in the page's list. What a page puts before stored messages is only shown: it would
   * begin another version of the whole chat. @param {readonly UIMessage[]} messages
   * @param {string | null} [before] what the first one follows: the page may not show it
   */
  keep(messages, before = null) {
    const begun = messages.findLastIndex(({ id }) => this.stored(id));
    messages.forEach((message, at) => {
      if (this.known.has(message)) return;
      this.known.add(message);
      const stored = this.stored(message.id);
      if (!stored && at < begun) return;
      // It is stored where it was asked for, which the page has left.
      if (!stored && this.recorded.has(message.id)) return;
      if (stored && isForeign(stored)) return;
      if (stored && printOf(toUI(stored)) === printOf(/** @type {UIMessage} */ (JSON.parse(JSON.stringify(message))))) return;
      this.put(message, { after: messages[at - 1]?.id ?? before, status: stored?.status ?? "complete" });
    });
  }

  /**
   * Saves a message. `after`: the one before it in the page, null: none; it counts for a new message. `home`: where it belongs, if
   * not to what the page shows. @param {UIMessage} message @param {{after: string | null, home?: Home, status: Status}} options
   */
  put(message, { after, home, status }) {
    const id = this.idOf(message.id);
    const made = { ...toStored(message), id, status };
    if (home && !home.isShown(id)) return home.save(made);
    const at = this.list.findIndex((one) => one.id === id);
    if (at >= 0) this.list = this.list.with(at, { ...placeOf(this.list[at]), ...made });
    else this.list = this._appended(made, after);
    this.connection.save(this.list, { streaming: status === "streaming" });
  }

  /** Answers that nobody continues are over: a question follows. */
  endStalled() {
    if (this.coming.size > 0 || this.connection.answering) return;
    const stalled = (/** @type {Message} */ { role, status }) => role === "assistant" && status === "streaming";
    if (!this.list.some(stalled)) return;
    this.list = this.list.map((message) => (stalled(message) ? { ...message, status: "interrupted" } : message));
    this.connection.save(this.list);
  }

  /** Resolves once what was saved is acknowledged; if the server does not answer soon, once it is on this browser's disk. */
  async safe() {
    await this.connection.stored();
    if (this.connection.status !== "offline") await this.connection.settled(ACKNOWLEDGED_MS);
  }

  /** What came so far, at once. */
  flush() {
    for (const answer of this.coming) answer.flush();
  }

  close() {
    this.flush();
    globalThis.removeEventListener?.("pagehide", this.leave, true);
    globalThis.removeEventListener?.("visibilitychange", this.leave, true);
    for (const end of this.unheard) end();
    this.connection.close();
  }

  /** @param {Message} made @param {string | null} after */
  _appended(made, after) {
    const parent = after === null ? null : this.idOf(after);
    const at = parent === null ? -1 : this.list.findIndex(({ id }) => id === parent);
    const unknown = parent !== null && at < 0;
    const aside = !unknown && this.list.slice(at + 1).some((message) => toUI(message));
    if (aside) return [...this.list.slice(0, at + 1), { ...made, parent_id: parent }];
    // In a session with branches another tab may show another one meanwhile.
    const branched = this.connection.session?.head !== undefined;
    return [...this.list, branched ? { ...made, parent_id: this.list.at(-1)?.id ?? null } : made];
  }

  /** @param {(StoredMessage | Message)[]} messages @param {unknown} error */
  _loaded(messages, error) {
    this.loaded = true;
    this.error = error;
    this._take(messages);
  }

  /** @param {unknown} refused */
  _refused(refused) {
    this.error = refused;
    this.tell();
  }

  /** A key or a login that was refused is accepted now. */
  _saved() {
    if (/** @type {{status?: number} | null} */ (this.error)?.status === 401) this._refused(null);
  }

  /** @param {(StoredMessage | Message)[]} messages */
  _take(messages) {
    this.list = messages;
    this.tell();
  }
}

/** Where it stands among others. @param {StoredMessage | Message} message */
function placeOf(message) {
  const { parent_id, siblings } = /** @type {StoredMessage} */ (message);
  return { ...(parent_id === undefined ? {} : { parent_id }), ...(siblings === undefined ? {} : { siblings }) };
}

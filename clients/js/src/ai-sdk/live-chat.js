/** Chats that are on the screen: one of each, however often React mounts it. */
import { Chat } from "@ai-sdk/react";
import { connect } from "#browser";
import { checkedId } from "../addresses.js";
import { checkedKey, projectName } from "../settings.js";
import { defaultTransport, StillhereTransport } from "./answers-transport.js";
import { PersistTransport } from "./persist-transport.js";
import { StoredChat } from "./stored-chat.js";

/** @import { Options } from "./index.js" */

const UNUSED_MS = 1000;
/** @type {Map<string, LiveChat>} */
const chats = new Map();

/**
 * On a server, which renders a page before the browser does: nothing is known and nothing kept.
 * @param {Options} options @returns {LiveChat}
 */
function emptyChat({ id, generateId }) {
  const nothing = () => {};
  const stored = { loaded: false, error: null, load: async () => {} };
  const chat = new Chat({ id, generateId });
  const empty = { chat, stored, connection: null, version: 0, use: () => nothing, settle: nothing, subscribe: () => nothing };
  return /** @type {LiveChat} */ (/** @type {unknown} */ (empty));
}

/** @param {Options} options @returns {LiveChat} */
export function liveChat(options) {
  const { url, key, user, project, id } = options;
  if (id !== undefined) checkedId(id);
  if (typeof document === "undefined") return emptyChat(options);
  const name = JSON.stringify([url, key, user, project, id]);
  const chat = chats.get(name) ?? new LiveChat(name, options);
  chats.set(name, chat);
  return chat;
}

export class LiveChat {
  /** @param {string} name @param {Options} options */
  constructor(name, options) {
    const { url, key, user, id, generateId, messageMetadataSchema, dataPartSchemas } = options;
    this.name = name;
    this.options = options;
    const project = options.project && projectName(options.project);
    this.connection = connect({ baseUrl: url, project, chat: id, auth: key ? { key: checkedKey(key) } : { cookie: true, user } });
    this.stored = new StoredChat(this.connection);
    this.fallback = defaultTransport();
    this.byStillhere = new StillhereTransport(this.stored);
    const transport = new PersistTransport(() => this._transport, this.stored);
    const schemas = { messageMetadataSchema, dataPartSchemas };
    this.chat = new Chat({ id, generateId, messages: this.stored.messages, transport, ...schemas, ...this._callbacks() });
    this.users = 0;
    this.version = 0;
    this.news = false;
    this.resumed = false;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    this.stored.onNews(() => this._heard());
    this._closeUnused();
  }

  get _transport() {
    const { transport = this.fallback } = this.options;
    return transport === "stillhere" ? this.byStillhere : transport;
  }

  get idle() {
    return this.chat.status === "ready" || this.chat.status === "error";
  }

  /** Somebody shows it. @returns {() => void} nobody does any more */
  use() {
    this.users += 1;
    void this.load();
    return () => {
      this.users -= 1;
      this._closeUnused();
    };
  }

  async load() {
    await this.stored.load();
    if (!this.options.resume || this.resumed || this.users === 0) return;
    this.resumed = true;
    if (this.idle) await this.chat.resumeStream();
  }

  /** The page's list or state changed: saves it, and shows what others did meanwhile. */
  settle() {
    const { stored } = this;
    if (!this.idle || !stored.loaded || stored.coming.size > 0) return;
    stored.keep(this.chat.messages);
    if (!this.news) return;
    this.news = false;
    stored.forgetAliases();
    const { messages } = stored;
    if (JSON.stringify(messages) !== JSON.stringify(this.chat.messages)) this.chat.messages = messages;
  }

  /** @param {() => void} listener @returns {() => void} ends it */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  _heard() {
    this.news = true;
    this.version += 1;
    this.settle();
    for (const listener of [...this.listeners]) listener();
  }

  /** The newest ones are called: a page passes others each time. @returns {Omit<Partial<Options>, "transport">} */
  _callbacks() {
    return {
      onFinish: (event) => this.options.onFinish?.(event),
      onError: (error) => this.options.onError?.(error),
      onToolCall: (call) => this.options.onToolCall?.(call),
      onData: (part) => this.options.onData?.(part),
      sendAutomaticallyWhen: (list) => this.options.sendAutomaticallyWhen?.(list) ?? false,
    };
  }

  /** An answer that comes is saved to its end, and what waits is sent. */
  _closeUnused() {
    setTimeout(async () => {
      const saved = this.idle && this.stored.coming.size === 0 && (await this.connection.settled(0));
      if (this.users > 0 || chats.get(this.name) !== this) return;
      if (!saved) return this._closeUnused();
      chats.delete(this.name);
      this.stored.close();
    }, UNUSED_MS);
  }
}

/**
 * Which messages exist, which of them the caller has seen, and what changed since. The caller passes whole lists,
 * as frameworks hold them; the server gets the difference.
 */
import { contentOf, printOf, STATUSES, textOf } from "./message-content.js";
import { append, inOrder, isReordered, refuse } from "./message-order.js";

/**
 * @import { Message, Siblings, Status, StoredMessage } from "../../stillhere.js"
 * @import { Seen, SentOperation } from "../types.d.ts"
 * @import { Content } from "./message-content.js"
 *
 * @typedef {{ver: number, print: string, status: Status, mine: boolean}} Held what the server has of a message, or will have once
 *   it accepted this page's operation; `mine`: this page wrote it
 */

export class MessageStore {
  constructor() {
    /** @type {Map<string, StoredMessage>} */
    this.messages = new Map();
    /** @type {Map<string, Held>} */
    this.held = new Map();
    /** The last version of each message from the caller or another tab: its status and print. @type {Map<string, string>} */
    this.passed = new Map();
    /** Removed: a late list does not restore them. @type {Set<string>} */
    this.tombstones = new Set();
    /** @type {string[]} */
    this.lastList = [];
    /** @type {string[]} */
    this.shown = [];
    /** @type {{id: string, text: string} | null} */
    this.growing = null;
    /** What this page has seen of other pages' unsent requests. @type {Map<string, Seen["if_write"]>} */
    this.writes = new Map();
    /** @type {WeakMap<Message, unknown>} */
    this.seen = new WeakMap();
  }

  /**
   * Start from what the server has. @param {StoredMessage[]} items
   * @param {{tombstones?: boolean}} [options] `tombstones`: for everything that was known and is no longer there
   */
  reset(items, { tombstones = false } = {}) {
    if (tombstones) for (const id of [...this.messages.keys(), ...this.passed.keys()]) this.tombstones.add(id);
    for (const known of [this.messages, this.held]) known.clear();
    this.lastList = [];
    for (const item of items) this.fromServer(item);
  }

  /**
   * An answer that the server makes, as far as its stream has it; null: none. It is shown while it is longer than the stored text,
   * and never sent. @param {{id: string, text: string} | null} growing @returns {boolean} whether that was news
   */
  grow(growing) {
    this.growing = growing;
    const stored = growing && this.messages.get(growing.id);
    if (!growing || stored?.status !== "streaming" || textOf(stored).length >= growing.text.length) return false;
    const { text } = growing;
    this.messages.set(growing.id, { ...stored, text, parts: [{ type: "text", text }] });
    return true;
  }

  /** What is shown of that answer, as an operation; null: there is none. @returns {SentOperation | null} */
  get tail() {
    if (!this.growing || !this.messages.has(this.growing.id)) return null;
    return { op: "upsert", ...this.growing, role: "assistant", status: "interrupted" };
  }

  /** The page shows these, of an earlier page: they are not its own words. @param {StoredMessage[]} messages */
  peeked(messages) {
    for (const message of messages) {
      const said = `${message.status}${printOf(contentOf(message))}`;
      if (!this.knows(message.id)) this.passed.set(message.id, said);
    }
  }

  /** The server has this now. @param {StoredMessage} item @returns {boolean} whether that was news */
  fromServer(item) {
    const print = printOf(contentOf(item));
    const known = this.held.get(item.id);
    const news = !known || known.print !== print || known.status !== item.status;
    this.tombstones.delete(item.id);
    this.held.set(item.id, { ver: item.ver ?? 0, print, status: item.status, mine: Boolean(known?.mine && !news) });
    this.messages.set(item.id, item);
    if (this.growing?.id === item.id) this.grow(this.growing);
    return news;
  }

  /**
   * Lengthens a message to this operation's text, if that begins with its own.
   * @param {SentOperation} operation @returns {SentOperation | null} the operation to send
   */
  grown({ if_ver: _, if_write: __, ...operation }) {
    const stored = this.messages.get(operation.id);
    const { text = "" } = operation;
    if (operation.op !== "upsert" || !stored) return null;
    if (text === textOf(stored) || !text.startsWith(textOf(stored))) return null;
    const status = operation.status === "streaming" ? "interrupted" : operation.status;
    const { op: ___, ...content } = operation;
    this.overlay({ ...content, status, parts: operation.parts ?? [{ type: "text", text }] }, true);
    return { ...operation, status, if_ver: stored.ver };
  }

  /**
   * Shows a page's unacknowledged operations over the server's messages.
   * @param {Partial<Message> & {id: string}} message @param {boolean} mine this page said it
   * @param {number} [ver] the one that it had seen then
   */
  overlay(message, mine, ver = this.verOf(message.id)) {
    const { id } = message;
    this.messages.set(id, /** @type {StoredMessage} */ ({ ...(this.messages.get(id) ?? this._placed(id)), ...message }));
    const print = printOf(contentOf(message));
    // Another tab's operation: this page shows it, the other one sends it.
    if (!mine) return void this.passed.set(id, `${message.status ?? "complete"}${print}`);
    this.tombstones.delete(id);
    this.held.set(id, { ver, print, status: message.status ?? "complete", mine });
  }

  /** Its place on the server. @param {string} id @param {number | undefined} position */
  place(id, position) {
    const message = this.messages.get(id);
    if (message) message.position = position;
  }

  /** The server does not take it: it stays where it is shown. @param {string} id @returns {boolean} is it shown? */
  refuse(id) {
    return refuse(this.messages, this.shown, id);
  }

  /** The server accepted an operation of this page. @param {string} id @param {number} ver */
  acknowledged(id, ver) {
    const held = this.held.get(id);
    if (held) held.ver = ver;
    // The mirror has it, so that the next page knows on what its change is based.
    const message = this.messages.get(id);
    if (message) message.ver = ver;
    this.writes.delete(id);
  }

  /** @param {string} id */
  verOf(id) {
    return this.held.get(id)?.ver ?? 0;
  }

  /** Of all messages. */
  get vers() {
    return new Map([...this.held].map(([id, { ver }]) => [id, ver]));
  }

  /** This page shows what another one has not sent yet. @param {string} id @param {Seen["if_write"]} write */
  sees(id, write) {
    this.writes.set(id, write);
  }

  /** What a change to this message is based on. @param {string} id @returns {Seen} */
  seenOf(id) {
    const write = this.writes.get(id);
    return { if_ver: this.verOf(id), ...(write && { if_write: write }) };
  }

  /** Not shown any more. No tombstone: if the caller's list has it again, the server keeps its text. @param {string} id */
  takeOut(id) {
    for (const known of [this.messages, this.held, this.passed]) known.delete(id);
  }

  /** @param {string} id @returns {boolean} whether it was there */
  remove(id) {
    this.tombstones.add(id);
    this.held.delete(id);
    return this.messages.delete(id);
  }

  /** @param {string} id */
  knows(id) {
    return this.messages.has(id) || this.passed.has(id) || this.tombstones.has(id);
  }

  /** In the server's order. */
  list() {
    return inOrder(this.messages.values());
  }

  /** The same for the caller, who then shows it so. */
  tell() {
    const messages = this.list();
    this.shown = messages.map((message) => message.id);
    return messages;
  }

  /** Does the caller show messages in another order than the server has them? */
  get reordered() {
    return isReordered(this.list(), this.shown);
  }

  /** The server appended these, in this order, behind all confirmed messages. @param {string[]} ids */
  appended(ids) {
    append(this.messages, ids);
  }

  /**
   * The difference between the caller's list and what is known, as operations. A message that the caller only shows
   * in an older form (a list from before a change was passed on) is no difference: only the caller's own changes are.
   * @param {readonly Message[]} list @param {{streaming?: boolean}} options `streaming`: its last message still grows
   */
  take(list, { streaming = false }) {
    const operations = this._takenOut(list);
    list.forEach((message, index) => {
      // While an answer grows, only the end of the list is compared closely: a long chat costs no more than a short one.
      const said = message.text ?? message.parts ?? message.content;
      if (streaming && index < list.length - 2 && this.seen.get(message) === said) return;
      this.seen.set(message, said);
      const operation = this._changed(message, streaming && index === list.length - 1);
      if (operation) operations.push(operation);
    });
    if (list.length > 0) this.shown = this.lastList = list.map((message) => message.id);
    return operations;
  }

  /** @param {Message} message @param {boolean} growing @returns {SentOperation | null} */
  _changed(message, growing) {
    const { id } = message;
    if (this.tombstones.has(id)) return null;
    const content = contentOf(message);
    // What the stream said; another text is the caller's own.
    if (this.growing?.id === id && this.growing.text.startsWith(content.text)) return null;
    const print = printOf(content);
    const held = this.held.get(id);
    const status = this._status(message, held, growing);
    const said = `${status}${print}`;
    // Another's version as it was told, changed back to what this page said before.
    const isOnNewest = held && held.print !== print && /** @type {Partial<StoredMessage>} */ (message).ver === held.ver;
    if (this.passed.get(id) === said && !isOnNewest) return null;
    const echoed = this.passed.get(id)?.endsWith(print) && held?.print !== print && !isOnNewest;
    this.passed.set(id, said);
    if (held?.print === print && held.status === status) return null;
    if (echoed && !held?.mine) return null;
    /** @type {Content & {status: Status}} */
    const copy = JSON.parse(JSON.stringify({ ...content, status }));
    this.held.set(id, { ver: held?.ver ?? 0, print, status, mine: true });
    const whole = { role: message.role, parts: [{ type: "text", text: content.text }], ...this._placed(id), ...copy, id };
    this.messages.set(id, whole);
    return { op: "upsert", id, ...copy };
  }

  /**
   * A message without a status of its own: an answer that is still growing, or one that was finished here.
   * @param {Message} message @param {Held | undefined} held @param {boolean} growing @returns {Status}
   */
  _status(message, held, growing) {
    if (message.status && STATUSES.has(message.status)) return message.status;
    if (growing && message.role === "assistant") return "streaming";
    const foreign = held && !held.mine && held.print === printOf(contentOf(message));
    return foreign ? held.status : "complete";
  }

  /** @param {string} id @returns {Pick<StoredMessage, "position" | "created_at">} */
  _placed(id) {
    const known = this.messages.get(id);
    return known ? { position: known.position, created_at: known.created_at } : {};
  }

  /**
   * A new message beside a known one begins a branch: what followed its parent is in another branch now, not removed.
   * @param {readonly Message[]} list @param {Set<string>} present
   */
  _leaveAside(list, present) {
    const isNew = (/** @type {string} */ id) => !this.messages.has(id) && !this.tombstones.has(id);
    const fork = list.find((message) => message.parent_id !== undefined && isNew(message.id));
    if (!fork) return;
    // Not the caller's last list: messages of others came since.
    const at = fork.parent_id === null ? -1 : this.shown.indexOf(fork.parent_id ?? "");
    if (at < 0 && fork.parent_id !== null) return;
    const left = this.shown.slice(at + 1).filter((id) => !present.has(id));
    for (const id of left) this.takeOut(id);
    this.lastList = this.lastList.filter((id) => !left.includes(id));
  }

  /** Of messages that were saved. @param {Record<string, Siblings>} siblings @returns {string[]} the ids of those that are shown */
  saySiblings(siblings) {
    const shown = Object.keys(siblings).filter((id) => this.messages.has(id));
    for (const id of shown)
      this.messages.set(id, { .../** @type {StoredMessage} */ (this.messages.get(id)), siblings: siblings[id] });
    return shown;
  }

  /** The messages of the caller's last list that this one lacks. Leading ones are only out of view; an empty list removes nothing. @param {readonly Message[]} list */
  _takenOut(list) {
    const present = new Set(list.map(({ id }) => id));
    this._leaveAside(list, present);
    const first = this.lastList.findIndex((id) => present.has(id));
    if (first < 0) return [];
    const gone = this.lastList.slice(first).filter((id) => !present.has(id) && this.messages.has(id));
    return gone.map((id) => {
      /** @type {SentOperation} */
      const operation = { op: "delete", id, ...this.seenOf(id) };
      this.takeOut(id);
      return operation;
    });
  }
}

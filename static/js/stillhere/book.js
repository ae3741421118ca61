/**
 * Which messages there are, which of them the caller has seen, and what changed since. The caller gives whole lists,
 * as frameworks have them; what goes to the server is the difference.
 */

const FIELDS = ["role", "text", "parts", "metadata", "format", "raw", "parent_id"];

function kindOf(value) {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** What a list of messages is not, in words; null where it is one. */
function fault(list) {
  if (!Array.isArray(list)) return `This was ${kindOf(list)}.`;
  for (const [at, message] of list.entries()) {
    if (message === null || typeof message !== "object") return `Number ${at} is ${kindOf(message)}.`;
    if (typeof message.id !== "string" || message.id === "") return `Number ${at} has no id, or one that is no string.`;
    if (message.parts != null && !Array.isArray(message.parts)) return `Number ${at} has parts that are no list.`;
  }
  return null;
}

/** The list, if it is one of messages. */
export function checked(list) {
  const wrong = fault(list);
  if (wrong) throw new TypeError(`save() takes the whole list of messages, [{ id, role, text }, …]. ${wrong}`);
  return list;
}

export function textOf(message) {
  if (typeof message.text === "string") return message.text;
  if (!message.parts && typeof message.content === "string") return message.content;
  return (message.parts ?? []).map((part) => (part?.type === "text" ? (part.text ?? "") : "")).join("");
}

/** The content of a message as the server is given it; its default form of `parts` is left out. */
function contentOf(message) {
  const text = textOf(message);
  const content = {};
  for (const field of FIELDS) if (message[field] !== undefined) content[field] = message[field];
  const [only, ...more] = message.parts ?? [];
  const plain = more.length === 0 && (!only || (only.type === "text" && only.text === text && Object.keys(only).length === 2));
  if (plain) delete content.parts;
  return { ...content, text };
}

const printOf = (content) => JSON.stringify(FIELDS.map((field) => content[field] ?? null));

export class Book {
  constructor() {
    this.messages = new Map();
    this.held = new Map();
    this.passed = new Map();
    this.buried = new Set();
    this.lastList = [];
    this.seen = new WeakMap();
  }

  /** Start from what the server has. Everything that was known and is no longer there is buried. */
  reset(items, { bury = false } = {}) {
    if (bury) for (const id of [...this.messages.keys(), ...this.passed.keys()]) this.buried.add(id);
    this.messages.clear();
    this.held.clear();
    this.lastList = [];
    for (const item of items) this.fromServer(item);
  }

  /** This is what stands on the server now. Answers whether that was news. */
  fromServer(item) {
    const print = printOf(contentOf(item));
    const known = this.held.get(item.id);
    const news = !known || known.print !== print || known.status !== item.status;
    this.buried.delete(item.id);
    this.held.set(item.id, { ver: item.ver, print, status: item.status, mine: known?.mine && !news });
    this.messages.set(item.id, item);
    return news;
  }

  /** Of what was known, what is not here any more or is here in another form: shown again, and as operations that say it again. */
  lost(known) {
    const operations = [];
    for (const message of known) {
      const { id } = message;
      const stands = this.messages.get(id);
      const content = contentOf(message);
      if (stands && printOf(contentOf(stands)) === printOf(content)) continue;
      const operation = { op: "upsert", id, ...content, status: message.status ?? "complete" };
      // What the server has is an earlier form of it. Where it is something else, both are kept.
      if (stands && !content.text.startsWith(textOf(stands))) operation.if_ver = (stands.ver ?? 0) + 1;
      operations.push(JSON.parse(JSON.stringify(operation)));
      this.overlay(message, true);
    }
    return operations;
  }

  /** What this page said and the server has not taken yet stands over what the server has. */
  overlay(message, mine) {
    const { id } = message;
    const held = this.held.get(id);
    this.messages.set(id, { ...(this.messages.get(id) ?? this._placed(id)), ...message });
    const print = printOf(contentOf(message));
    if (mine) this.held.set(id, { ver: held?.ver ?? 0, print, status: message.status ?? "complete", mine });
  }

  /** An own write was taken. */
  acknowledged(id, ver) {
    const held = this.held.get(id);
    if (held) held.ver = ver;
  }

  verOf(id) {
    return this.held.get(id)?.ver ?? 0;
  }

  bury(id) {
    this.buried.add(id);
    this.held.delete(id);
    return this.messages.delete(id);
  }

  knows(id) {
    return this.messages.has(id) || this.passed.has(id) || this.buried.has(id);
  }

  list() {
    const place = (message) => message.position ?? Number.MAX_SAFE_INTEGER;
    return [...this.messages.values()].sort((a, b) => place(a) - place(b));
  }

  /**
   * The difference between the caller's list and what is known, as operations. A message that the caller merely shows
   * in an older form (a list from before a change was handed over) is no difference: only what they changed is.
   */
  take(list, { streaming }) {
    const operations = this._takenOut(list);
    list.forEach((message, index) => {
      // While an answer grows, only the end of the list is looked at closely: a long chat costs no more than a short one.
      const said = message.text ?? message.parts ?? message.content;
      if (streaming && index < list.length - 2 && this.seen.get(message) === said) return;
      this.seen.set(message, said);
      const operation = this._changed(message, streaming && index === list.length - 1);
      if (operation) operations.push(operation);
    });
    if (list.length > 0) this.lastList = list.map((message) => message.id);
    return operations;
  }

  _changed(message, growing) {
    const { id } = message;
    if (this.buried.has(id)) return null;
    const content = contentOf(message);
    const print = printOf(content);
    const held = this.held.get(id);
    const status = this._status(message, held, growing);
    const said = `${status}${print}`;
    if (this.passed.get(id) === said) return null;
    const echoed = this.passed.get(id)?.endsWith(print) && held?.print !== print;
    this.passed.set(id, said);
    if (held?.print === print && held.status === status) return null;
    if (echoed && held && !held.mine) return null;
    const copy = JSON.parse(JSON.stringify({ ...content, status }));
    this.held.set(id, { ver: held?.ver ?? 0, print, status, mine: true });
    this.messages.set(id, { parts: [{ type: "text", text: content.text }], ...this._placed(id), ...copy, id });
    return { op: "upsert", id, ...copy };
  }

  /** A message without a status of its own: an answer that still grows, or one that was finished here. */
  _status(message, held, growing) {
    if (["streaming", "complete", "interrupted"].includes(message.status)) return message.status;
    if (growing && message.role === "assistant") return "streaming";
    const foreign = held && !held.mine && held.print === printOf(contentOf(message));
    return foreign ? held.status : "complete";
  }

  _placed(id) {
    const known = this.messages.get(id);
    if (known) return { position: known.position, created_at: known.created_at };
    let last = 0;
    for (const { position } of this.messages.values()) last = Math.max(last, position ?? 0);
    return { position: last + 1 };
  }

  /** What the caller's last list had and this one has no more. Leading ones are only out of view; an empty list says nothing. */
  _takenOut(list) {
    const present = new Set(list.map((message) => message.id));
    const first = this.lastList.findIndex((id) => present.has(id));
    if (first < 0) return [];
    const gone = this.lastList.slice(first).filter((id) => !present.has(id) && this.messages.has(id));
    return gone.map((id) => {
      const operation = { op: "delete", id, if_ver: this.verOf(id) };
      // Not buried: should the list bring it again, the server keeps its words.
      for (const known of [this.messages, this.held, this.passed]) known.delete(id);
      return operation;
    });
  }
}

/** Messages as the server renders them, requested in batches. Messages that cannot be rendered now stay queued. */

import { fragment } from "../../pages/elements.js";
import { later } from "../../pages/live/reading.js";

/** @import { PageMessage } from "./message-parts.js" */

const BATCH = 20;
const BATCH_CHARACTERS = 200_000;
const GATHER_MS = 30;
// Plain text, which looks the same in both renderings.
const PLAIN = /^(?!\d+[.)])(?:[\p{L}\p{N} ,’?!]|\.(?=\s|$))*$/u;

/** The content of a message that is rendered, to compare two versions of it. @param {Pick<PageMessage, "text" | "parts">} message */
export const printOf = ({ text, parts }) => JSON.stringify([text, parts ?? null]);

/** @param {PageMessage} message */
export function looksPlain({ text, parts }) {
  /** @type {{type?: string, text?: string}[]} */
  const [only, ...more] = parts ?? [];
  return PLAIN.test(text) && more.length === 0 && (!only || (only.type === "text" && only.text === text));
}

export class ServerRendering {
  /** @param {() => string} csrf @param {(message: PageMessage, article: DocumentFragment) => void} rendered */
  constructor(csrf, rendered) {
    this.csrf = csrf;
    this.rendered = rendered;
    /** @type {Map<string, PageMessage>} */
    this.queue = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.later = later(() => this.again());
  }

  /** @param {PageMessage} message */
  want(message) {
    this.queue.set(message.id, message);
    this.again();
  }

  /** Try the queued messages. */
  again() {
    this.timer ??= setTimeout(() => this._run(), GATHER_MS);
  }

  async _run() {
    try {
      while (this.queue.size > 0) {
        const batch = this._batch();
        const articles = await this._ask(batch);
        // No other message may be wanted for a long time.
        if (!articles) return this.later();
        for (const message of batch) if (this.queue.get(message.id) === message) this.queue.delete(message.id);
        for (const [at, html] of articles.entries()) this.rendered(batch[at], fragment(html));
      }
    } finally {
      this.timer = undefined;
    }
  }

  _batch() {
    /** @type {PageMessage[]} */
    const batch = [];
    let size = 0;
    for (const message of this.queue.values()) {
      size += printOf(message).length;
      if (batch.length === BATCH || (batch.length > 0 && size > BATCH_CHARACTERS)) break;
      batch.push(message);
    }
    return batch;
  }

  /** Null: not now. A message that is refused permanently stays as it is shown. @param {PageMessage[]} batch @returns {Promise<string[] | null>} */
  async _ask(batch) {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": this.csrf() };
    const messages = batch.map(({ role, text, parts }) => ({ role, text, parts }));
    try {
      const answer = await fetch("/chat/words", { method: "POST", headers, body: JSON.stringify({ messages }) });
      if (answer.ok) return (await answer.json()).articles;
      if (answer.status === 413 || answer.status === 422) {
        for (const { id } of batch) this.queue.delete(id);
        return [];
      }
    } catch {
      // The server does not respond: the text is shown anyway.
    }
    return null;
  }
}

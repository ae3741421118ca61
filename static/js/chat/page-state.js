/** What the chat page shows: its own list of messages, and the current step. */

/** @import { PageMessage } from "./messages/message-parts.js" */

const UNFINISHED_MS = 6000;

export class PageState {
  constructor() {
    /** @type {PageMessage[]} */
    this.messages = [];
    this.step = "question";
    /** An answer of another program that nobody continues. @type {string | null} */
    this.stalled = null;
    /** From the server, not from this browser's mirror. */
    this.restored = false;
  }

  get last() {
    return this.messages.at(-1);
  }

  /** As it is saved: before the chat begins there is no step. */
  get openingStep() {
    return this.step === "question" ? "" : this.step;
  }

  /** Replaces the message, or appends it. @param {PageMessage} message */
  put(message) {
    const known = this.messages.some(({ id }) => id === message.id);
    if (known) this.messages = this.messages.map((one) => (one.id === message.id ? message : one));
    else this.messages = [...this.messages, message];
  }

  /** The messages before this one; all, if somebody took it out. @param {string} id */
  before(id) {
    const at = this.messages.findIndex((message) => message.id === id);
    return at < 0 ? this.messages : this.messages.slice(0, at);
  }

  /**
   * An answer that grows no more for a while, and that the server does not make, is shown as cut off.
   * @param {() => boolean} isMade @param {() => unknown} changed
   */
  watchUnfinished(isMade, changed) {
    const { last } = this;
    if (last?.status !== "streaming") return;
    setTimeout(() => {
      const now = this.last;
      if (isMade() || now?.id !== last.id || now.text !== last.text || now.status !== "streaming") return;
      this.stalled = now.id;
      changed();
    }, UNFINISHED_MS);
  }
}

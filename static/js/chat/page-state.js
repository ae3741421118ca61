/** What the chat page shows: its own list of messages, and the current step. */

/** @import { PageMessage } from "./messages/message-parts.js" */

export class PageState {
  constructor() {
    /** @type {PageMessage[]} */
    this.messages = [];
    this.step = "question";
    /** @type {{id: string, abort: AbortController, text: string} | null} */
    this.answering = null;
    /** From the server, not from this browser's mirror. */
    this.restored = false;
    /** The question whose answer waits for a login. @type {string | null} */
    this.asked = null;
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

  /** The last message will not be completed. */
  cutOff() {
    if (this.last?.status === "streaming") this.put({ ...this.last, status: "interrupted" });
  }
}

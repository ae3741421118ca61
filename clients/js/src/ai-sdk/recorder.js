/** Saves an answer while it streams. */
import { readUIMessageStream } from "ai";

/**
 * @import { UIMessage, UIMessageChunk } from "ai"
 * @import { Status } from "#browser"
 * @import { Home } from "./home.js"
 * @import { StoredChat } from "./stored-chat.js"
 */

const SAVED_MS = 60;
// Where the page does not show it any more: each time is a request.
const SAVED_ELSEWHERE_MS = 1000;

/**
 * The stream with an id for its message, so that the page and the store have the same one.
 * @param {ReadableStream<UIMessageChunk>} stream @param {string} id used if the stream names none
 * @returns {ReadableStream<UIMessageChunk>}
 */
export function named(stream, id) {
  let begun = false;
  /** @type {TransformStream<UIMessageChunk, UIMessageChunk>} */
  const naming = new TransformStream({
    transform(chunk, controller) {
      if (begun) return controller.enqueue(chunk);
      begun = true;
      if (chunk.type === "start") return controller.enqueue({ ...chunk, messageId: chunk.messageId ?? id });
      controller.enqueue({ type: "start", messageId: id });
      controller.enqueue(chunk);
    },
  });
  return stream.pipeThrough(naming);
}

export class Recorder {
  /**
   * @param {StoredChat} chat
   * @param {{after: string | null, home: Home, continued?: UIMessage, again?: boolean, signal?: AbortSignal}} how `after`: the
   *   message that is answered; `home`: where; `continued`: the answer that goes on; `again`: another version beside what follows
   *   `after`; `signal`: somebody stopped it
   */
  constructor(chat, how) {
    this.chat = chat;
    this.how = how;
    /** @type {UIMessage | undefined} */
    this.latest = undefined;
    this.unsaved = false;
    this.savedAt = Number.NEGATIVE_INFINITY;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {Status} */
    this.status = "streaming";
  }

  /** Until the stream ends, however that is. @param {ReadableStream<UIMessageChunk>} stream */
  async run(stream) {
    this.chat.coming.add(this);
    const { continued, signal } = this.how;
    signal?.addEventListener("abort", () => this._over("interrupted"));
    let aborted = false;
    const watched = stream.pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          aborted ||= chunk.type === "abort";
          controller.enqueue(chunk);
        },
      }),
    );
    try {
      const message = continued && structuredClone(continued);
      for await (const read of readUIMessageStream({ stream: watched, message, terminateOnError: true })) this._take(read);
      this._over(aborted ? "interrupted" : "complete");
    } catch {
      // The page shows why.
      this._over("interrupted");
    }
  }

  /** Saves what came so far. */
  flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.unsaved || !this.latest) return;
    this.unsaved = false;
    this.savedAt = performance.now();
    const { after, home } = this.how;
    this.chat.put(this.latest, { after, home, status: this.status });
  }

  /** @param {UIMessage} message */
  _take(message) {
    if (this.status !== "streaming" || message.parts.length === 0) return;
    if (!this.latest) this._begin(message);
    // A stream that is read again begins with what is stored.
    if (this._isBehind(message)) return;
    this.latest = message;
    this.unsaved = true;
    const { home } = this.how;
    const isShown = home.isShown(this.chat.idOf(message.id));
    // Each time would be a copy. It is saved at the end, or as the page is left.
    if (home.isCleared) return;
    const wait = this.savedAt + (isShown ? SAVED_MS : SAVED_ELSEWHERE_MS) - performance.now();
    if (wait <= 0) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), wait);
  }

  /** @param {UIMessage} message */
  _begin({ id }) {
    const { again, home } = this.how;
    // Answered again under the id of the former answer.
    if (again && (this.chat.stored(id) || home.knows(id))) this.chat.branch(id);
    this.chat.recorded.add(id);
  }

  /** @param {UIMessage} message */
  _isBehind({ id, parts }) {
    const stored = this.latest ? undefined : this.chat.stored(id);
    return (
      stored !== undefined && !this.how.continued && JSON.stringify(parts).length < JSON.stringify(stored.parts ?? []).length
    );
  }

  /** @param {Status} status */
  _over(status) {
    if (this.status !== "streaming") return;
    this.status = status;
    this.unsaved = true;
    this.flush();
    this.how.home.end();
    this.chat.coming.delete(this);
    this.chat.tell();
  }
}

/** A transport that saves what goes through another one. */
import { generateId } from "ai";
import { heldStream, partsOf } from "./answers-transport.js";
import { Home } from "./home.js";
import { named, Recorder } from "./recorder.js";

/**
 * @import { ChatTransport, UIMessage, UIMessageChunk } from "ai"
 * @import { StoredChat } from "./stored-chat.js"
 *
 * @typedef {Parameters<ChatTransport<UIMessage>["sendMessages"]>[0]} Sent
 * @typedef {Parameters<ChatTransport<UIMessage>["reconnectToStream"]>[0]} Reconnected
 */

// Ids of messages have at most 64 characters.
const ANSWER = "-answer";
const LONGEST_ASKED = 64 - ANSWER.length;

/** @implements {ChatTransport<UIMessage>} */
export class PersistTransport {
  /** @param {() => ChatTransport<UIMessage>} inner @param {StoredChat} chat */
  constructor(inner, chat) {
    this.inner = inner;
    this.chat = chat;
    /** The stream that is resumed is one that Stillhere holds: it comes from its beginning. */
    this.held = false;
  }

  get resumeStreamIsReplay() {
    return this.held || this.inner().resumeStreamIsReplay;
  }

  /** @param {Sent} options @returns {Promise<ReadableStream<UIMessageChunk>>} */
  async sendMessages(options) {
    const { chat } = this;
    const { messages, trigger, messageId, abortSignal: signal } = options;
    await chat.load();
    const again = trigger === "regenerate-message";
    const answered = again ? undefined : (messages.find(({ id }) => id === messageId) ?? messages.at(-1));
    const continued = answered?.role === "assistant" ? answered : undefined;
    chat.endStalled();
    const known = messageId !== undefined && !continued && chat.stored(messageId) !== undefined;
    const before = known ? await chat.before(messageId) : null;
    if (known && !again) chat.branch(messageId);
    chat.keep(messages, before);
    const inner = this.inner();
    if ("saves" in inner) return chat.safe().then(() => inner.sendMessages(options));
    const after = (continued ?? messages.at(-1))?.id ?? before;
    const home = this._homeOf(after);
    const id = again ? generateId() : this._answerId(after);
    try {
      await chat.safe();
      const stream = await inner.sendMessages(options);
      return this._recorded(continued ? stream : named(stream, id), { after, home, continued, again, signal });
    } catch (error) {
      home.end();
      throw error;
    }
  }

  /** An answer that Stillhere holds, else one that the inner transport has. @param {Reconnected} options */
  async reconnectToStream(options) {
    const { chat } = this;
    await chat.load();
    const held = await this._held(options);
    this.held = held !== null;
    if (held) return held;
    const stream = await this.inner().reconnectToStream(options);
    if (!stream) return null;
    const [before, last] = [undefined, ...chat.messages].slice(-2);
    const asked = (last?.role === "assistant" ? before : last)?.id ?? null;
    const unfinished = last?.role === "assistant" && chat.stored(last.id)?.status !== "complete";
    // A page that asked, or another one that resumes, may be storing the same answer, or have done so.
    const same = last && (unfinished || last.id === answerIdOf(chat, asked));
    const after = same ? asked : (last?.id ?? null);
    const id = same ? last.id : this._answerId(after);
    return this._recorded(named(stream, id), { after, home: this._homeOf(after), signal: options.abortSignal });
  }

  /** What the page shows now. @param {string | null} after shown id of the message that is answered */
  _homeOf(after) {
    const { chat } = this;
    return new Home(chat.connection, after === null ? null : chat.idOf(after));
  }

  /** For an answer that the stream does not name. @param {string | null} after shown id of the message that is answered */
  _answerId(after) {
    const id = answerIdOf(this.chat, after);
    return this.chat.stored(id) ? generateId() : id;
  }

  close() {
    this.inner().close?.();
  }

  /** Its producer saves it: this page only shows it. @param {Reconnected} options */
  async _held({ abortSignal }) {
    const { session, http } = partsOf(this.chat.connection);
    if (!session) return null;
    return heldStream(http, `/sessions/${session.id}/stream`, abortSignal).catch(() => null);
  }

  /** @param {ReadableStream<UIMessageChunk>} stream @param {ConstructorParameters<typeof Recorder>[1]} how */
  _recorded(stream, how) {
    const [shown, copied] = stream.tee();
    void new Recorder(this.chat, how).run(copied);
    return shown;
  }
}

/**
 * The same in all pages that show an answer to this message, so that it is stored once.
 * @param {StoredChat} chat @param {string | null} after
 */
function answerIdOf(chat, after) {
  const asked = chat.stored(after ?? "")?.id ?? after;
  return asked !== null && asked.length <= LONGEST_ASKED ? `${asked}${ANSWER}` : generateId();
}

/** What answers if a page names nothing else: the page's own `/api/chat`, as with `useChat`, or Stillhere itself. */
import { DefaultChatTransport } from "ai";
import { uuid } from "#browser";

/**
 * @import { ChatTransport, UIMessage, UIMessageChunk } from "ai"
 * @import { Connection } from "#browser"
 * @import { StoredChat } from "./stored-chat.js"
 *
 * @typedef {Parameters<ChatTransport<UIMessage>["sendMessages"]>[0]} Sent
 * @typedef {import("#module/server/http.js").Http} Http
 * @typedef {import("#module/session-client.js").SessionClient} SessionClient
 */

const NOT_THERE = new Set([404, 405]);
const NOTHING_ANSWERS =
  "Nothing answers: the page's server has no POST /api/chat. Pass `transport`, or `transport: \"stillhere\"` for answers by Stillhere's model.";

/** What of a connection only this package knows. @param {Connection} connection */
export const partsOf = (connection) => {
  /** @type {{_http: Http, _sessionClient: SessionClient}} */
  const { _http: http, _sessionClient: client } = /** @type {any} */ (connection);
  return { session: connection.session, http, client };
};

/** `/api/chat`. If it is not there, the error says what to do. */
export const defaultTransport = () =>
  new DefaultChatTransport({
    fetch: async (...request) => {
      const response = await fetch(...request);
      if (request[1]?.method === "POST" && NOT_THERE.has(response.status)) throw new Error(NOTHING_ANSWERS);
      return response;
    },
  });

/** A stream that Stillhere holds, or null. @param {Http} http @param {string} path @param {AbortSignal} [abortSignal] */
export function heldStream(http, path, abortSignal) {
  const api = `${http.base}/api/v1${path}?as=ai-sdk`;
  /** @type {Record<string, string>} */
  const headers = http.auth.key ? { Authorization: `Bearer ${http.auth.key}` } : {};
  const credentials = http.auth.key ? "omit" : "same-origin";
  const reading = new DefaultChatTransport({ prepareReconnectToStreamRequest: () => ({ api, headers, credentials }) });
  return reading.reconnectToStream({ chatId: "", abortSignal });
}

/** Answers that Stillhere makes and saves: they go on without the page. @implements {ChatTransport<UIMessage>} */
export class StillhereTransport {
  /** @param {StoredChat} chat */
  constructor(chat) {
    this.chat = chat;
    /** Nobody else has to save what it sends. */
    this.saves = true;
  }

  /** @param {Sent} sent @returns {Promise<ReadableStream<UIMessageChunk>>} */
  async sendMessages({ messages, trigger, abortSignal }) {
    const { session, http } = partsOf(this.chat.connection);
    const asked = messages.at(-1);
    if (!session) throw new Error("Stillhere does not answer: the question is kept, and sent when it is back.");
    if (asked?.role !== "user") throw new Error("Stillhere's model answers questions only; outputs of tools need a `transport`.");
    const question = this.chat.stored(asked.id)?.id ?? asked.id;
    const beside = trigger === "regenerate-message" || session.head !== undefined;
    const body = { id: uuid(), ...(beside ? { parent_id: question } : { question }) };
    /** @type {{body: {generation: string, stream: string}}} */
    const { body: made } = await http.request("POST", `/sessions/${session.id}/generations`, body);
    const stop = () => http.request("POST", `/sessions/${session.id}/generations/${made.generation}/stop`, {}).catch(() => {});
    abortSignal?.addEventListener("abort", stop);
    const stream = await heldStream(http, `/streams/${made.stream}`, abortSignal);
    if (!stream) throw new Error("The answer is over already: it is among the stored messages.");
    return stream;
  }

  /** What Stillhere holds is looked for before any transport. */
  async reconnectToStream() {
    return null;
  }
}

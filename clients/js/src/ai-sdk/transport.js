/** Chats of the AI SDK without a framework for pages: a transport that saves, and the messages for a server. */
import { Client } from "../client.js";
import { PersistTransport } from "./persist-transport.js";
import { StoredChat } from "./stored-chat.js";
import { isForeign, toUI } from "./ui-messages.js";

/**
 * @import { ChatTransport, UIMessage } from "ai"
 * @import { Connection, StoredMessage } from "#browser"
 */

/**
 * A transport that saves what goes through another one.
 * @param {ChatTransport<UIMessage>} transport @param {Connection} connection of this chat
 */
export function persistTransport(transport, connection) {
  return new PersistTransport(() => transport, new StoredChat(connection));
}

/**
 * A chat's messages, without a browser; none if there is no such chat.
 * @param {{url?: string, key?: string, project?: string, id: string, repair?: boolean}} options @returns {Promise<UIMessage[]>}
 */
export async function loadMessages({ id, repair, ...where }) {
  const client = new Client(where);
  const session = await client.findSession(id);
  if (!session) return [];
  const converted = () => /** @type {Promise<UIMessage[]>} */ (client.messages(session.id, { as: "ai-sdk", repair }));
  if (repair) return converted();
  // As they were saved, except what other frameworks wrote.
  const stored = /** @type {StoredMessage[]} */ (await client.messages(session.id));
  const others = new Map((stored.some(isForeign) ? await converted() : []).map((message) => [message.id, message]));
  return stored.flatMap((message) => (isForeign(message) ? others.get(message.id) : toUI(message)) ?? []);
}

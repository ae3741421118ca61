/** Types of transport.js. */
import type { ChatTransport, UIMessage } from "ai";
import type { Connection } from "#browser";

/**
 * A transport that saves what goes through another one: the question before the request leaves, the answer while it streams. An
 * edited question and an answer that is asked for again become versions beside the former ones. `connection`: of this chat,
 * `connect({ …, chat: id })`.
 */
export function persistTransport<Message extends UIMessage = UIMessage>(
  transport: ChatTransport<Message>,
  connection: Connection,
): ChatTransport<Message>;

/**
 * A chat's messages, read without a browser; [] if there is no such chat. `url`, `key` and `project` left out: STILLHERE_URL,
 * STILLHERE_KEY, STILLHERE_PROJECT. `repair`: for a model: calls of tools without an output get one. Metadata and states of parts are left out then.
 */
export function loadMessages<Message extends UIMessage = UIMessage>(options: {
  url?: string;
  key?: string;
  project?: string;
  id: string;
  repair?: boolean;
}): Promise<Message[]>;

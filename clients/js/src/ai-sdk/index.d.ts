/** Types of index.js. */
import type { UseChatHelpers } from "@ai-sdk/react";
import type { ChatInit, ChatTransport, UIMessage } from "ai";
import type { Connection, Refused, Siblings } from "#browser";

export { loadMessages, persistTransport } from "./transport.js";

type Passed<Message extends UIMessage> = Pick<
  ChatInit<Message>,
  | "generateId"
  | "messageMetadataSchema"
  | "dataPartSchemas"
  | "onData"
  | "onError"
  | "onFinish"
  | "onToolCall"
  | "sendAutomaticallyWhen"
>;

export interface Options<Message extends UIMessage = UIMessage> extends Passed<Message> {
  /** The address of Stillhere; default: the page's own origin. */
  url?: string;
  /** An API key; without one the login cookie, for pages of Stillhere's origin. */
  key?: string;
  /** Keeps the copies of several accounts in one browser apart, with the login cookie. */
  user?: string;
  project: string;
  /** Your id of the chat. Left out: the project's current session. */
  id?: string;
  /** What answers; default: `/api/chat`. `"stillhere"`: the model that Stillhere is configured with. */
  transport?: ChatTransport<Message> | "stillhere";
  /** Joins an answer that is still being made. */
  resume?: boolean;
  /** Milliseconds between two paintings of an answer that comes. */
  throttle?: number;
}

export interface StillhereChat<Message extends UIMessage = UIMessage> extends UseChatHelpers<Message> {
  /** The server's messages are shown, or this browser's copy if the server does not answer. */
  loaded: boolean;
  /** Why they cannot be shown (access is denied, the chat is in the trash), or what the server refused to store. */
  storeError: Error | Refused | null;
  /** Null on a server. */
  connection: Connection | null;
  /** How many messages are not loaded: the oldest ones. */
  unread: number;
  /** Resolves with whether there are more. */
  loadOlder(limit?: number): Promise<boolean>;
  /** The versions of a message of the list: null if it is the only one. */
  versionsOf(id: string): Siblings | null;
  /** Shows a version, with what follows it: `previous` or `next` of `versionsOf`. */
  showVersion(id: string): Promise<void>;
}

/** `useChat`, kept: what is shown is there again after a reload, in another tab and on another machine. */
export function useStillhereChat<Message extends UIMessage = UIMessage>(options: Options<Message>): StillhereChat<Message>;

/** A server whose store was restored from a backup lacks changes that it had acknowledged later: a page saves what it knows again. */
import { contentOf, printOf, textOf } from "./message-content.js";

/**
 * @import { Session, StoredMessage } from "../../stillhere.js"
 * @import { SentOperation } from "../types.d.ts"
 * @import { MessageStore } from "./message-store.js"
 */

/** Was the store restored since? @param {Session} known @param {Session} present */
export function restoredSince(known, present) {
  return known.incarnation !== undefined && known.incarnation !== present.incarnation;
}

/**
 * Known messages that are now missing or different: shown again, and returned as operations that save them again.
 * @param {Pick<MessageStore, "messages" | "overlay">} store @param {StoredMessage[]} known
 */
export function lost(store, known) {
  /** @type {SentOperation[]} */
  const operations = [];
  for (const message of known) {
    const { id } = message;
    const stored = store.messages.get(id);
    const content = contentOf(message);
    if (stored && printOf(contentOf(stored)) === printOf(content)) continue;
    /** @type {SentOperation} */
    const operation = { op: "upsert", id, ...content, status: message.status ?? "complete" };
    // The server has an earlier form of it. If it has something else, both are kept.
    if (stored && !content.text.startsWith(textOf(stored))) operation.if_ver = (stored.ver ?? 0) + 1;
    operations.push(JSON.parse(JSON.stringify(operation)));
    store.overlay(message, true);
  }
  return operations;
}

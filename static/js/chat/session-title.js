/** A session without a title gets its first words as a title, so that it can be recognised in lists. */
import { titleOf } from "./messages/message-parts.js";

/**
 * @import { Session } from "../stillhere.js"
 * @import { Api } from "./api.js"
 * @import { PageMessage } from "./messages/message-parts.js"
 */

/** Sessions that got a title from this page. @type {WeakSet<Session>} */
const titled = new WeakSet();

/** @param {Session | null} session @param {PageMessage[]} messages @param {Pick<Api, "try">} api */
export function giveTitle(session, messages, api) {
  if (!session || session.title || titled.has(session)) return;
  const title = titleOf(messages);
  if (!title) return;
  titled.add(session);
  api.try("PATCH", `/sessions/${session.id}`, { title });
}

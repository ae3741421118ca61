/**
 * Results of tools, which are often messages of their own, in the calls that they answer: as the session's page shows them
 * (`sessions_app/pages/session/parts/results.py`). A message that has nothing else is left out.
 */

/**
 * @import { PageMessage } from "./message-parts.js"
 *
 * @typedef {{type?: string, id?: unknown}} Link
 * @typedef {{part: Link, message: PageMessage}} Placed
 */

/** Messages with their results, so that an unchanged one stays the same object. @type {WeakMap<PageMessage, {key: unknown[], joined: PageMessage}>} */
const kept = new WeakMap();

/** @param {PageMessage[]} messages oldest first @returns {PageMessage[]} */
export function withResults(messages) {
  /** @type {Map<unknown, Placed>} */
  const calls = new Map();
  /** @type {Map<Link, Placed>} */
  const results = new Map();
  /** @type {Set<Link>} */
  const placed = new Set();
  for (const message of messages) {
    for (const part of linksOf(message)) {
      if (part.type === "tool_call") calls.set(part.id, { part, message });
      const call = part.type === "tool_result" ? calls.get(part.id) : undefined;
      if (!call) continue;
      calls.delete(part.id);
      results.set(call.part, { part, message });
      placed.add(part);
    }
  }
  if (!placed.size) return messages;
  return messages.map((message) => joined(message, results, placed)).filter((message) => message !== null);
}

/** @param {PageMessage} message @returns {Link[]} */
const linksOf = ({ parts }) => (parts ?? []).filter((/** @type {Link} */ part) => typeof part?.id === "string");

/** @param {PageMessage} message @param {Map<Link, Placed>} results @param {Set<Link>} placed @returns {PageMessage | null} null: left out */
function joined(message, results, placed) {
  const own = linksOf(message);
  const key = own.flatMap((part) => results.get(part)?.part ?? (placed.has(part) ? [part] : []));
  if (!key.length) return message;
  const parts = message.parts?.filter((part) => !placed.has(part)).map((part) => withResult(part, message, results.get(part)));
  if (!parts?.length && !message.text) return null;
  const known = kept.get(message);
  if (known && known.key.length === key.length && known.key.every((part, at) => part === key[at])) return known.joined;
  const made = { ...message, parts };
  kept.set(message, { key, joined: made });
  return made;
}

/** @param {object} part @param {PageMessage} message @param {Placed | undefined} found */
function withResult(part, message, found) {
  if (!found) return part;
  const took = Date.parse(found.message.created_at ?? "") - Date.parse(message.created_at ?? "");
  return { ...part, result: found.part, ...(took > 0 ? { took_ms: took } : {}) };
}

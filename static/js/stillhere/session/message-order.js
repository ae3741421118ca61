/** The order of the messages: the server's, which a page may not show yet. */

/** @import { StoredMessage } from "../../stillhere.js" */

/** Messages that the server has not confirmed come last, where it will append them. @param {Iterable<StoredMessage>} messages */
export function inOrder(messages) {
  const place = (/** @type {StoredMessage} */ message) => message.position ?? Number.MAX_SAFE_INTEGER;
  return [...messages].sort((a, b) => place(a) - place(b));
}

/** Are these messages shown in another order than theirs? @param {StoredMessage[]} messages @param {string[]} shown their ids */
export function isReordered(messages, shown) {
  const ranks = new Map(shown.map((id, at) => [id, at]));
  const present = messages.map(({ id }) => ranks.get(id)).filter((rank) => rank !== undefined);
  return present.some((rank, at) => at > 0 && rank < present[at - 1]);
}

/**
 * The server appended these, in this order, behind all confirmed messages.
 * @param {Map<string, StoredMessage>} messages @param {string[]} ids
 */
export function append(messages, ids) {
  let last = 0;
  for (const { position } of messages.values()) last = Math.max(last, position ?? 0);
  for (const id of ids) {
    const message = messages.get(id);
    if (!message || message.position !== undefined) continue;
    last += 1;
    message.position = last;
  }
}

/**
 * The server does not take a message: it is marked, and stays behind the one that it is shown behind.
 * @param {Map<string, StoredMessage>} messages @param {string[]} shown their ids @param {string} id @returns {boolean} is it shown?
 */
export function refuse(messages, shown, id) {
  const message = messages.get(id);
  if (!message) return false;
  const at = shown.indexOf(id);
  const before = messages.get(shown[at - 1])?.position;
  const place = at === 0 ? 0 : before === undefined ? undefined : before + 0.5;
  messages.set(id, { ...message, position: message.position ?? place, refused: true });
  return true;
}

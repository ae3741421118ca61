/** Why the server did not do what was asked, in its own words. */

/** @param {Response} reply @returns empty: it does not say */
export function toldBy(reply) {
  const told = reply.headers.get("Stillhere-Message");
  return told ? decodeURIComponent(told) : "";
}

/** Why a part of a page could not be read again. @param {Response} reply */
export function whyNot(reply) {
  if (reply.redirected) return "you are signed out";
  return toldBy(reply).replace(/\.$/, "") || "the server does not answer";
}

/** A part of a page could not be read: why, in words. */
export class NotRead extends Error {}

/** @param {Response} reply */
export function refuse(reply) {
  if (!reply.ok || reply.redirected) throw new NotRead(whyNot(reply));
}

/** @param {unknown} error of `refuse`, or of a request without an answer */
export const whyNotRead = (error) => (error instanceof NotRead ? error.message : "the server does not answer");

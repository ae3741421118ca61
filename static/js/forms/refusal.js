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

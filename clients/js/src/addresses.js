/** @param {string} externalId @returns {string} the address of the session with this id, in its project */
export function byExternal(externalId) {
  return `/sessions/by-external/${encodeURIComponent(checkedId(externalId))}`;
}

/** @param {string} session its id on the server @returns {string} its address */
export function ofSession(session) {
  return `/sessions/${encodeURIComponent(checkedId(session))}`;
}

/**
 * A variable that is not set would be the id "undefined", and so one chat for everybody.
 * @param {unknown} id of a session @returns {string}
 */
export function checkedId(id) {
  if (id === undefined || id === null || id === "") throw new TypeError("The id of a session is not empty.");
  if (typeof id !== "string") throw new TypeError(`The id of a session is a text, not ${typeof id}: ${String(id)}`);
  // An address with a dot or two in place of a name is that of something else.
  if (/^\.{1,2}$/.test(id)) throw new TypeError("The id of a session is neither `.` nor `..`.");
  return id;
}

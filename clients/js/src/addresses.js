/** @param {string} externalId @returns {string} the address of the session with this id, in its project */
export function byExternal(externalId) {
  // An address that ends with a dot or two is that of something else.
  if (/^\.{0,2}$/.test(externalId)) throw new TypeError("The id of a session is not empty, and neither `.` nor `..`.");
  return `/sessions/by-external/${encodeURIComponent(externalId)}`;
}

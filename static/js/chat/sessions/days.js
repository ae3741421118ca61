/** Groups sessions by the day of their last change, in this browser's time zone. */

/** @typedef {{id: string, title: string, name?: string, updated_at: string, pinned?: boolean, message_count?: number}} Listed */

const DAY_MS = 86_400_000;

/** @param {Date} date */
const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** @param {string} at @param {Date} now @returns {string} "Today", "Yesterday", "Monday" within a week, else the date */
export function dayOf(at, now = new Date()) {
  const date = new Date(at);
  // Rounded: a day with a change of the clock has 23 or 25 hours.
  const days = Math.round((midnight(now).getTime() - midnight(date).getTime()) / DAY_MS);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return date.toLocaleDateString("en", { weekday: "long" });
  const year = date.getFullYear() === now.getFullYear() ? {} : { year: /** @type {const} */ ("numeric") };
  return date.toLocaleDateString("en", { day: "numeric", month: "long", ...year });
}

/** The sessions as they come, under "Pinned", which is first, and their days. @param {Listed[]} sessions @returns {[string, Listed[]][]} */
export function byDay(sessions, now = new Date()) {
  /** @type {Map<string, Listed[]>} */
  const groups = new Map([["Pinned", []]]);
  for (const session of sessions) {
    const name = session.pinned ? "Pinned" : dayOf(session.updated_at, now);
    groups.set(name, [...(groups.get(name) ?? []), session]);
  }
  return [...groups].filter(([, some]) => some.length);
}

/**
 * Relative times, updated while the page is open, and exact times in the reader's time zone. The server
 * renders both first, the exact time in UTC.
 */

const NOW_SECONDS = 45;
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
/** @type {[Intl.RelativeTimeFormatUnit, number, number][]} */
const AGES = [
  ["minute", MINUTE, HOUR],
  ["hour", HOUR, DAY],
  ["day", DAY, 14 * DAY],
  ["week", 7 * DAY, 60 * DAY],
  ["month", 30 * DAY, 730 * DAY],
  ["year", 365 * DAY, Infinity],
];
const format = new Intl.RelativeTimeFormat("en", { numeric: "always" });

/** @param {Date} moment */
function ago(moment) {
  const seconds = (moment.getTime() - Date.now()) / 1000;
  const past = Math.abs(seconds);
  if (past < NOW_SECONDS) return "now";
  const [unit, length] = AGES.find(([, , most]) => past < most) ?? AGES[AGES.length - 1];
  const number = seconds > 0 ? Math.round(past / length) : Math.floor(past / length);
  return format.format(Math.sign(seconds) * Math.max(1, number), unit);
}

function tick() {
  if (document.hidden) return;
  /** @type {NodeListOf<HTMLTimeElement>} */
  const times = document.querySelectorAll("time[data-ago]");
  for (const time of times) {
    const words = ago(new Date(time.dateTime));
    if (time.textContent !== words) time.textContent = words;
  }
}

/* The exact local time as a tooltip, set on hover, also for times that were added later. */
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** @param {Event} event */
function tell({ target }) {
  const time = target instanceof Element ? target.closest("time[data-ago]") : null;
  if (time instanceof HTMLTimeElement) time.title = exact.format(new Date(time.dateTime));
}

document.addEventListener("pointerover", tell);
setInterval(tick, 30_000);
document.addEventListener("visibilitychange", tick);

/** How long ago something was, kept true while the page stands. The server says it first, in the same words. */

const NOW_SECONDS = 45;
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const AGES = [
  ["minute", MINUTE, HOUR],
  ["hour", HOUR, DAY],
  ["day", DAY, 14 * DAY],
  ["week", 7 * DAY, 60 * DAY],
  ["month", 30 * DAY, 730 * DAY],
  ["year", 365 * DAY, Infinity],
];
const format = new Intl.RelativeTimeFormat("en", { numeric: "always" });

function ago(moment) {
  const seconds = (moment - Date.now()) / 1000;
  const past = Math.abs(seconds);
  if (past < NOW_SECONDS) return "now";
  const [unit, length] = AGES.find(([, , most]) => past < most);
  return format.format(Math.sign(seconds) * Math.max(1, Math.floor(past / length)), unit);
}

function tick() {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const words = ago(new Date(time.dateTime));
    if (time.textContent !== words) time.textContent = words;
  }
}

setInterval(tick, 30_000);
document.addEventListener("visibilitychange", tick);

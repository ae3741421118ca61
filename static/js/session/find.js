/** Finds a text in the whole session, as the server does, and marks it in the messages that are on the page. */

import { refuse, whyNotRead } from "../forms/refusal.js";
import { count as written } from "../pages/counts.js";
import { all, byId, composes, focusOn, fragment, one } from "../pages/elements.js";
import { showAround } from "../pages/message/long-texts.js";
import { markAll, unmark } from "./text-marks.js";

const WAIT_MS = 200;
/* An answer that is being written may bring the text with each of its words. */
const GENTLE_MS = 1000;
/* Where Find itself leads to, and which of its elements had the focus. */
const JUMP = "stillhere.find-jump";
const log = byId("transcript", HTMLElement);
const form = byId("find-form", HTMLFormElement);
const field = byId("find", HTMLInputElement);
const count = byId("find-count", HTMLElement);
/** Messages with the text, oldest first. @type {{position: number, href: string}[]} */
let hits = [];
/** The address of older ones; empty: all are known. */
let older = "";
let at = -1;
/** The message where the focus was before. @type {Element | null | undefined} */
let from;
/** What `hits` and the marks are of. */
let words = "";
let timer = 0;
let counting = 0;
let latest = 0;

/** @param {number} position */
const articleAt = (position) => document.getElementById(`message-${position}`);

function tell() {
  // The server finds in the current version only. On another version's page the marks alone say what was found.
  const marked = log.dataset.version && !hits.length && log.querySelector("mark");
  byId("find-steps", HTMLElement).hidden = !words || !!marked;
  const total = `${written(hits.length)}${older ? "+" : ""}`;
  const none = older ? "Looking further back…" : "Not found";
  const found = !hits.length ? none : at < 0 ? `${total} found` : `${at + 1} of ${total}`;
  count.textContent = log.dataset.version ? `${found} in the current version` : found;
  for (const id of ["find-previous", "find-next"]) byId(id, HTMLButtonElement).disabled = !hits.length;
}

/** @param {HTMLElement} article */
function markIn(article) {
  const text = article.querySelector(".words");
  if (!text) return;
  unmark(text);
  if (words) markAll(text, words);
}

function markPage() {
  for (const article of all(log, "article")) markIn(article);
}

/** @param {HTMLElement} article */
function show(article) {
  for (const former of all(log, "mark.present")) former.classList.remove("present");
  // The line of a fold that shows is cut: the text is whole within.
  const marks = all(article, "mark");
  const first = marks.find((mark) => !mark.closest("summary")) ?? marks[0];
  first?.classList.add("present");
  /** @type {HTMLDetailsElement | null | undefined} */
  let fold = first?.closest("details");
  for (; fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  if (first) showAround(first);
  (first ?? article).scrollIntoView({ block: "center" });
}

/** Goes to a hit. One that is not on the page has a page of its own, on which the search goes on. @param {number} to */
function go(to) {
  if (!hits.length) return;
  at = (to + hits.length) % hits.length;
  tell();
  const article = articleAt(hits[at].position);
  if (article) show(article);
  else jump(hits[at].href);
}

/** @param {string} href */
function jump(href) {
  try {
    sessionStorage.setItem(
      JUMP,
      JSON.stringify([new URL(href, location.href).href, form.parentElement?.querySelector(":focus")?.id]),
    );
  } catch {
    // The browser blocks storage: only the focus is lost.
  }
  location.assign(href);
}

/** Sets the focus as it was before Find led here. */
function refocus() {
  try {
    const [href, id] = JSON.parse(sessionStorage.getItem(JUMP) ?? "[]");
    sessionStorage.removeItem(JUMP);
    if (href === location.href && id) focusOn(document.getElementById(id));
  } catch {
    // As above.
  }
}

/** The hit nearest above the end of what is seen. */
function nearest() {
  const seen = all(log, "article").findLast((article) => article.getBoundingClientRect().top < innerHeight);
  const last = Number(seen?.dataset.position ?? Infinity);
  return hits.findLastIndex(({ position }) => position <= last);
}

/** @param {string} address @returns hits, and the address of those before them */
async function read(address) {
  const reply = await fetch(address, { headers: { "HX-Request": "true" } });
  refuse(reply);
  const content = fragment(await reply.text());
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (content.querySelectorAll("a[data-position]"));
  const found = [...links].map((link) => ({ position: Number(link.dataset.position), href: link.href })).reverse();
  return { found, before: content.querySelector("li.more a")?.getAttribute("href") ?? "" };
}

const addressOf = (/** @type {string} */ text) => `${form.action}?q=${encodeURIComponent(text)}`;

/** @returns whether it is still what is wanted */
async function ask() {
  const wanted = field.value.trim();
  const number = ++latest;
  clearTimeout(timer);
  const { found, before } = wanted ? await read(addressOf(wanted)) : { found: [], before: "" };
  if (number !== latest) return false;
  hits = found;
  older = before;
  at = -1;
  words = wanted;
  markPage();
  tell();
  // The server looks through a part of a long session at once.
  while (!hits.length && older) if (Number.isNaN(await askOlder())) return false;
  return true;
}

/** Hits before those that are known. @returns how many came; NaN: something else is looked for meanwhile */
async function askOlder() {
  const number = latest;
  const { found, before } = await read(older);
  if (number !== latest) return Number.NaN;
  hits = [...found, ...hits];
  older = before;
  if (at >= 0) at += found.length;
  tell();
  return found.length;
}

/** Hits that came since. */
async function askNewer() {
  counting = 0;
  const number = latest;
  if (!words) return;
  const { found, before } = await read(addressOf(words));
  if (number !== latest || (before && !found.length)) return;
  const present = hits[at]?.position;
  const known = before ? hits.filter(({ position }) => position < found[0].position) : [];
  // Without one that came again, there may be others between.
  const apart = known.length === hits.length;
  if (!before || apart) older = before;
  hits = apart ? found : [...known, ...found];
  at = hits.findIndex(({ position }) => position === present);
  tell();
}

/** A hit that is not known yet, and not one of those that are still to be read. @param {HTMLElement} article */
function countSoon(article) {
  const at = Number(article.dataset.position);
  if (counting || hits.some(({ position }) => position === at) || (older && !(at > hits[0]?.position))) return;
  if (article.querySelector(".words mark")) counting = setTimeout(() => askNewer().catch(failed), GENTLE_MS);
}

const failed = (/** @type {unknown} */ error) => {
  byId("find-steps", HTMLElement).hidden = false;
  count.textContent = `Not searched: ${whyNotRead(error)}.`;
};

/** @param {number} step */
async function step(step) {
  try {
    if (field.value.trim() !== words && !(await ask())) return;
    let to = at < 0 ? nearest() : at + step;
    while (to < 0 && older) to += await askOlder();
    // After the newest hit comes the oldest one of all.
    while (at >= 0 && to === hits.length && older) to += await askOlder();
    if (!Number.isNaN(to)) go(to);
  } catch (error) {
    failed(error);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  step(1);
});
field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => ask().catch(failed), WAIT_MS);
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey && !composes(event)) {
    event.preventDefault();
    step(-1);
  } else if (event.key === "Escape" && !composes(event)) {
    const article = articleAt(hits[at]?.position ?? Number.NaN) ?? from;
    field.value = "";
    ask();
    if (article instanceof HTMLElement && article.isConnected) {
      article.tabIndex = -1;
      focusOn(article);
    } else field.blur();
  }
});
field.addEventListener("focus", ({ relatedTarget }) => {
  from = relatedTarget instanceof Element ? relatedTarget.closest("article") : null;
});
one(document, "#find-previous", HTMLElement).addEventListener("click", () => step(-1));
one(document, "#find-next", HTMLElement).addEventListener("click", () => step(1));

/* Messages that are added or replaced later. Marks themselves add no articles. */
new MutationObserver((changes) => {
  if (!words) return;
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (!(node instanceof HTMLElement && node.matches("article"))) continue;
      markIn(node);
      countSoon(node);
    }
  }
}).observe(log, { childList: true });

/* A search's hit, opened: its place among the session's hits. */
async function begin() {
  const article = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  words = field.value.trim();
  markPage();
  if (article) show(article);
  await ask();
  const position = Number(article?.dataset.position);
  while (article && older && !(hits[0]?.position <= position)) if (Number.isNaN(await askOlder())) return;
  at = hits.findIndex((hit) => hit.position === position);
  tell();
  if (article) show(article);
  refocus();
}

if (field.value.trim()) {
  const start = () => begin().catch(failed);
  // After the browser's own scrolling to the message, which it does until the page is loaded.
  if (document.readyState === "complete") start();
  else addEventListener("load", () => requestAnimationFrame(start));
}

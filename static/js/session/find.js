/** Finds a text in the whole session, as the server does, and marks it in the messages that are on the page. */

import { all, byId, fragment, one } from "../pages/elements.js";
import { showAround } from "../pages/message/long-texts.js";
import { markAll, unmark } from "./text-marks.js";

const WAIT_MS = 200;
const log = byId("transcript", HTMLElement);
const form = byId("find-form", HTMLFormElement);
const field = byId("find", HTMLInputElement);
const count = byId("find-count", HTMLElement);
/** Messages with the text, oldest first. @type {{position: number, href: string}[]} */
let hits = [];
let more = false;
let at = -1;
/** What `hits` and the marks are of. */
let words = "";
let timer = 0;
let latest = 0;

/** @param {number} position */
const articleAt = (position) => document.getElementById(`message-${position}`);

function tell() {
  byId("find-steps", HTMLElement).hidden = !words;
  const total = `${hits.length.toLocaleString("en")}${more ? "+" : ""}`;
  count.textContent = !hits.length ? "Not found" : at < 0 ? `${total} found` : `${at + 1} of ${total}`;
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
  const first = article.querySelector("mark");
  first?.classList.add("present");
  for (let fold = first?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
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
  else location.assign(hits[at].href);
}

/** The hit nearest above the end of what is seen. */
function nearest() {
  const seen = all(log, "article").findLast((article) => article.getBoundingClientRect().top < innerHeight);
  const last = Number(seen?.dataset.position ?? Infinity);
  return hits.findLastIndex(({ position }) => position <= last);
}

/** @returns whether it is still what is wanted */
async function ask() {
  const wanted = field.value.trim();
  const number = ++latest;
  clearTimeout(timer);
  let html = "";
  if (wanted) {
    const reply = await fetch(`${form.action}?q=${encodeURIComponent(wanted)}`, { headers: { "HX-Request": "true" } });
    if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
    html = await reply.text();
  }
  if (number !== latest) return false;
  const content = fragment(html);
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (content.querySelectorAll("a[data-position]"));
  hits = [...links].map((link) => ({ position: Number(link.dataset.position), href: link.href })).reverse();
  more = content.querySelector("li.more") !== null;
  at = -1;
  words = wanted;
  tell();
  markPage();
  return true;
}

const failed = () => {
  byId("find-steps", HTMLElement).hidden = false;
  count.textContent = "The server does not answer.";
};

/** @param {number} step */
async function step(step) {
  try {
    if (field.value.trim() !== words && !(await ask())) return;
    go(at < 0 ? nearest() : at + step);
  } catch {
    failed();
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
  if (event.key === "Enter" && event.shiftKey && !event.isComposing) {
    event.preventDefault();
    step(-1);
  } else if (event.key === "Escape") {
    field.value = "";
    ask();
    field.blur();
  }
});
one(document, "#find-previous", HTMLElement).addEventListener("click", () => step(-1));
one(document, "#find-next", HTMLElement).addEventListener("click", () => step(1));

/* Messages that are added or replaced later. Marks themselves add no articles. */
new MutationObserver((changes) => {
  if (!words) return;
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) if (node instanceof HTMLElement && node.matches("article")) markIn(node);
  }
}).observe(log, { childList: true });

/* A search's hit, opened: its place among the session's hits. */
async function begin() {
  const article = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  words = field.value.trim();
  markPage();
  if (article) show(article);
  await ask();
  at = hits.findIndex(({ position }) => articleAt(position) === article);
  tell();
  if (article) show(article);
}

if (field.value.trim()) {
  const start = () => begin().catch(failed);
  // After the browser's own scrolling to the message, which it does until the page is loaded.
  if (document.readyState === "complete") start();
  else addEventListener("load", () => requestAnimationFrame(start));
}

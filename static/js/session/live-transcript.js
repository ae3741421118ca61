/** A session's page follows its project's events: it inserts only what changed, so scroll, selection and open folds stay. */

import { addCodeButtons } from "../pages/message/code-blocks.js";
import "../pages/message/pictures.js";
import { all, around, byId, focusedAt, focusOn, fragment } from "../pages/elements.js";
import { followEvents, reload } from "../pages/live/event-stream.js";
import { addTextButtons, keepShown } from "../pages/message/long-texts.js";
import { toast } from "../pages/toasts.js";
import { sidebar } from "./sidebar.js";

/** @import { PageEvent } from "../pages/live/event-stream.js" */

const log = byId("transcript", HTMLElement);
const state = byId("live-state", HTMLElement);
const NEAR_THE_END = 160;
const STATES = new Set([
  "AGENT_STATE_SAVED",
  "PENDING_ACTION_RESOLVED",
  "PLAN_RESTORED",
  "AI_STATE_SAVED",
  "AI_STATE_TRANSFERRED",
]);
let rev = Number(log.dataset.rev);
/** @type {Promise<unknown> | null} */
let working = null;
let again = false;
/** The last read failed: what it would have brought is not on the page. */
let behind = false;
/** Changes since this revision are read once more, because what they are about was not on the page then. */
let reread = Infinity;

/** Why the page has to be loaded again; empty: it need not. */
let due = "";

/** @param {string} words */
const say = (words) => {
  state.textContent = due ? `Not up to date: ${due}.` : words;
};

/** Loads the page again, but not while something is half-written beside the transcript. @param {string} why */
function renew(why) {
  const told = due === why;
  due = why;
  if (!sidebar.isHalfWritten()) return reload();
  say("");
  if (!told) toast(`This page is loaded again once you have sent what you wrote: ${why}.`, { error: true });
}

/** Where the page was scrolled to last by its script: a position above it is a reader's own. */
let ended = 0;

function followsTheEnd() {
  const below = document.documentElement.scrollHeight - scrollY - innerHeight;
  return below <= 1 || (below < NEAR_THE_END && scrollY >= ended - 1);
}

function toTheEnd() {
  scrollTo(0, document.documentElement.scrollHeight);
  ended = scrollY;
}

/** @param {string} html */
function parse(html) {
  const content = fragment(html);
  addCodeButtons(content);
  addTextButtons(content);
  return content;
}

/* A message with a selection is updated when the selection is gone. */
/** @type {Map<string, HTMLElement>} */
const waiting = new Map();

/** @param {Node} article */
function selecting(article) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(article, true);
}

document.addEventListener("selectionchange", () => {
  if (!waiting.size || !getSelection()?.isCollapsed) return;
  const articles = [...waiting.values()];
  waiting.clear();
  articles.filter((article) => document.getElementById(article.id)).forEach(place);
});

/** @param {Element} article */
const focusable = (article) => [...article.querySelectorAll("summary, a, button, pre")];

/** @param {Element} standing @param {Element} fresh */
function replace(standing, fresh) {
  const open = [...standing.querySelectorAll("details")].map((fold) => fold.open);
  for (const [at, fold] of fresh.querySelectorAll("details").entries()) fold.open = open[at] ?? false;
  addCodeButtons(fresh);
  keepShown(standing, fresh);
  const focused = focusedAt(focusable(standing));
  standing.replaceWith(fresh);
  if (focused >= 0) focusOn(focusable(fresh)[focused]);
}

/** @param {HTMLElement} fresh */
function place(fresh) {
  const standing = document.getElementById(fresh.id);
  if (!standing) {
    const position = Number(fresh.dataset.position);
    const articles = all(log, "article");
    if (articles.length && position < Number(articles[0].dataset.position) && log.querySelector("[data-older]")) return;
    const following = articles.find((article) => Number(article.dataset.position) > position);
    if (following) following.before(fresh);
    else log.append(fresh);
    return;
  }
  if (selecting(standing)) waiting.set(fresh.id, fresh);
  else replace(standing, fresh);
}

async function fetchChanges() {
  const reply = await fetch(`${log.dataset.changes}?since=${rev}`, { headers: { "HX-Request": "true" } });
  // To the sign-in page. What is half-written here would be lost there.
  if (reply.redirected) return say("Not up to date: you are signed out.");
  if (reply.status === 404 || reply.status === 410) return renew("the session was deleted elsewhere");
  if (!reply.ok) throw new Error(String(reply.status));
  const html = await reply.text();
  // Cleared, here or elsewhere: a different transcript.
  if (reply.headers.get("Stillhere-Epoch") !== log.dataset.epoch) return renew("the session was cleared or restored elsewhere");
  const following = followsTheEnd();
  for (const id of JSON.parse(reply.headers.get("Stillhere-Removed") ?? "[]")) {
    log.querySelector(`article[data-id="${CSS.escape(id)}"]`)?.remove();
  }
  for (const article of all(parse(html), "article")) place(article);
  if (log.querySelector("article")) document.getElementById("nothing")?.remove();
  rev = Number(reply.headers.get("Stillhere-Rev"));
  if (following) toTheEnd();
  if (reply.headers.get("Stillhere-More")) await fetchChanges();
}

/* One read at a time; an event meanwhile causes another read after it. */
async function refresh() {
  if (working) {
    again = true;
    return;
  }
  behind = false;
  rev = Math.min(rev, reread);
  reread = Infinity;
  working = fetchChanges().catch(() => {
    behind = true;
    say("Not up to date: the server does not answer.");
  });
  await working;
  working = null;
  if (again) {
    again = false;
    refresh();
  }
}

/** @param {PageEvent} event */
function heard(event) {
  const ours = event.session === log.dataset.session;
  if (event.type === "SESSION_DELETED" && ours) return toast("This session was deleted elsewhere.", { error: true });
  // It was moved to another project, whose events are followed from now on.
  if (ours && event.data?.moved) return renew("the session was moved elsewhere");
  // The server says something every 25 s.
  if (behind || event.type === "RESYNC" || (ours && !((event.rev ?? Infinity) <= rev))) refresh();
  if (event.type === "RESYNC" || (ours && STATES.has(event.type))) sidebar.refresh();
  else if (ours) sidebar.refreshSoon();
}

/** Loads older messages above those that are read, or newer ones below them. @param {HTMLAnchorElement} link */
async function load(link) {
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  const newer = link.matches("[data-newer]");
  const since = rev;
  try {
    const reply = await fetch(link.href, { headers: { "HX-Request": "true" } });
    if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
    const content = parse(await reply.text());
    // None, if all that was shown was removed elsewhere.
    const kept = log.querySelector(newer ? "article:last-of-type" : "article");
    const before = kept?.getBoundingClientRect().top ?? 0;
    link.closest(".older")?.replaceWith(content);
    scrollBy(0, (kept?.getBoundingClientRect().top ?? 0) - before);
    watch();
    if (rev !== since) {
      reread = Math.min(reread, since);
      refresh();
    }
    if (newer && !log.querySelector("[data-newer]")) follow();
  } catch {
    link.ariaBusy = null;
    toast(`${newer ? "Newer" : "Older"} messages could not be loaded. Try again.`, { error: true });
  }
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting && target instanceof HTMLAnchorElement) load(target);
});

function watch() {
  for (const link of log.querySelectorAll("[data-older], [data-newer]")) near.observe(link);
}

log.addEventListener("click", (event) => {
  const link = around(event, "[data-older], [data-newer]");
  if (!(link instanceof HTMLAnchorElement)) return;
  event.preventDefault();
  load(link);
});

/** From now on, when the newest messages are on the page. */
function follow() {
  document.getElementById("newest")?.remove();
  const opened = () => [refresh(), sidebar.refresh()];
  followEvents({ project: log.dataset.project ?? "", since: Number(log.dataset.events), say, heard, opened });
}

for (const type of ["htmx:afterRequest", "change"]) sidebar.root.addEventListener(type, () => due && renew(due));
addCodeButtons(log);
addTextButtons(log);
/* After a form, `?at=` is still in the address, but not the fragment, which no browser sends. */
const at = location.hash ? null : new URLSearchParams(location.search).get("at");
const reading = at && log.querySelector(`article[data-id="${CSS.escape(at)}"]`);
if (reading) {
  history.replaceState(null, "", `#${reading.id}`);
  reading.scrollIntoView();
}
if (log.dataset.follow) {
  if (!reading && !log.querySelector(":target")) toTheEnd();
  follow();
}
requestAnimationFrame(() => requestAnimationFrame(watch));

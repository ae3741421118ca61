/** A session's page follows its project's events: it puts in what changed and nothing else, so scroll, selection and open folds stay. */

import { toast } from "./toasts.js";

const log = document.getElementById("transcript");
const state = document.getElementById("live-state");
const LONGEST_WAIT_MS = 30_000;
const NEAR_THE_END = 160;
let rev = Number(log.dataset.rev);
let seen = Number(log.dataset.events);
let socket = null;
let waited = 0;
let timer = 0;
let working = null;
let again = false;

const say = (words) => (state.textContent = words);
const atTheEnd = () => document.documentElement.scrollHeight - scrollY - innerHeight < NEAR_THE_END;
const toTheEnd = () => scrollTo(0, document.documentElement.scrollHeight);

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  template.content.querySelectorAll("[data-copy]").forEach((button) => (button.hidden = false));
  return template.content;
}

/* A message that somebody is selecting in waits until the selection is gone. */
const waiting = new Map();

function selecting(article) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(article, true);
}

document.addEventListener("selectionchange", () => {
  if (!waiting.size || !getSelection().isCollapsed) return;
  const articles = [...waiting.values()];
  waiting.clear();
  articles.filter((article) => document.getElementById(article.id)).forEach(place);
});

const focusable = (article) => [...article.querySelectorAll("summary, a, button, pre")];

function replace(standing, fresh) {
  const open = [...standing.querySelectorAll("details")].map((fold) => fold.open);
  fresh.querySelectorAll("details").forEach((fold, at) => (fold.open = open[at] ?? false));
  const focused = focusable(standing).indexOf(document.activeElement);
  standing.replaceWith(fresh);
  if (focused >= 0) focusable(fresh)[focused]?.focus({ preventScroll: true });
}

function place(fresh) {
  const standing = document.getElementById(fresh.id);
  if (!standing) {
    const position = Number(fresh.dataset.position);
    const articles = [...log.querySelectorAll("article")];
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
  if (reply.redirected || reply.status === 404 || reply.status === 410) return location.reload();
  if (!reply.ok) throw new Error(String(reply.status));
  const html = await reply.text();
  // Started over, here or elsewhere: another transcript altogether.
  if (reply.headers.get("Stillhere-Epoch") !== log.dataset.epoch) return location.reload();
  const follow = atTheEnd();
  for (const id of JSON.parse(reply.headers.get("Stillhere-Removed"))) {
    log.querySelector(`article[data-id="${CSS.escape(id)}"]`)?.remove();
  }
  for (const article of [...parse(html).querySelectorAll("article")]) place(article);
  if (log.querySelector("article")) document.getElementById("nothing")?.remove();
  rev = Number(reply.headers.get("Stillhere-Rev"));
  if (follow) toTheEnd();
  if (reply.headers.get("Stillhere-More")) await fetchChanges();
}

/* One read at a time; what comes meanwhile is read after it. */
async function refresh() {
  if (working) return void (again = true);
  working = fetchChanges().catch(() => say("Not up to date: the server does not answer."));
  await working;
  working = null;
  if (again) {
    again = false;
    refresh();
  }
}

function heard(event) {
  waited = 0;
  say("Live");
  if (event.event_seq) seen = Math.max(seen, event.event_seq);
  const ours = event.session === log.dataset.session;
  if (event.type === "SESSION_DELETED" && ours) toast("This session was deleted elsewhere.", { error: true });
  else if (event.type === "RESYNC" || (ours && !(event.rev <= rev))) refresh();
}

function connect() {
  clearTimeout(timer);
  if (socket || document.hidden) return;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/ws/events/?project=${encodeURIComponent(log.dataset.project)}`);
  const own = socket;
  own.addEventListener("open", () => {
    own.send(JSON.stringify({ type: "subscribe", since: seen }));
    say("Live");
    refresh();
  });
  own.addEventListener("message", (message) => heard(JSON.parse(message.data)));
  own.addEventListener("close", () => {
    if (socket !== own) return;
    socket = null;
    if (document.hidden) return;
    waited = Math.min(LONGEST_WAIT_MS, (waited || 500) * 2);
    say("Cut off. Trying again…");
    timer = setTimeout(connect, waited * (0.5 + Math.random() / 2));
  });
}

/* A hidden tab listens to nothing; what it missed is read when it is looked at. */
function rest() {
  clearTimeout(timer);
  const own = socket;
  socket = null;
  own?.close();
}

async function older(link) {
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  try {
    const reply = await fetch(link.href, { headers: { "HX-Request": "true" } });
    if (!reply.ok) throw new Error(String(reply.status));
    const first = log.querySelector("article");
    const content = parse(await reply.text());
    const before = first.getBoundingClientRect().top;
    link.closest(".older").replaceWith(content);
    scrollBy(0, first.getBoundingClientRect().top - before);
    watch();
  } catch {
    link.ariaBusy = null;
    toast("Older messages could not be loaded. Try again.", { error: true });
  }
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) older(entry.target);
});

function watch() {
  const link = log.querySelector("[data-older]");
  if (link) near.observe(link);
}

log.addEventListener("click", (event) => {
  const link = event.target.closest("[data-older]");
  if (!link) return;
  event.preventDefault();
  older(link);
});

if (log.dataset.follow) {
  toTheEnd();
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : connect()));
  addEventListener("online", connect);
  addEventListener("pagehide", rest);
  addEventListener("pageshow", connect);
  connect();
}
requestAnimationFrame(() => requestAnimationFrame(watch));

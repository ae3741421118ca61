/** A session's page follows its project's events: it puts in what changed and nothing else, so scroll, selection and open folds stay. */

import { dress } from "./code.js";
import { follow } from "./follow.js";
import { rail } from "./rail.js";
import { toast } from "./toasts.js";

const log = document.getElementById("transcript");
const state = document.getElementById("live-state");
const NEAR_THE_END = 160;
const STATES = new Set(["AGENT_STATE_SAVED", "PENDING_ACTION_RESOLVED", "PLAN_RESTORED", "AI_STATE_SAVED", "AI_STATE_TRANSFERRED"]);
let rev = Number(log.dataset.rev);
let working = null;
let again = false;

const say = (words) => (state.textContent = words);
const atTheEnd = () => document.documentElement.scrollHeight - scrollY - innerHeight < NEAR_THE_END;
const toTheEnd = () => scrollTo(0, document.documentElement.scrollHeight);

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  template.content.querySelectorAll("[data-copy]").forEach((button) => (button.hidden = false));
  dress(template.content);
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
  const ours = event.session === log.dataset.session;
  if (event.type === "SESSION_DELETED" && ours) return toast("This session was deleted elsewhere.", { error: true });
  if (event.type === "RESYNC" || (ours && !(event.rev <= rev))) refresh();
  if (event.type === "RESYNC" || (ours && STATES.has(event.type))) rail.refresh();
  else if (ours) rail.refreshSoon();
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

dress(log);
if (log.dataset.follow) {
  if (!log.querySelector(":target")) toTheEnd();
  const opened = () => [refresh(), rail.refresh()];
  follow({ project: log.dataset.project, since: Number(log.dataset.events), say, heard, opened });
}
requestAnimationFrame(() => requestAnimationFrame(watch));

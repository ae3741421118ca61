/**
 * Lists that follow what happens. `data-rows` on a list is the address that answers its first rows as they are now;
 * `data-project` and `data-events` say what to follow, or `data-every` after how many seconds to look again. Each row
 * has an id and says by `data-order` where it belongs. Only rows that changed are touched; those loaded later stay.
 */

import { follow, whenSeen } from "./follow.js";

const GENTLE_MS = 2500;
const VOLATILE = /name="csrfmiddlewaretoken" value="[^"]*"/g;
const FOCUSABLE = "a, button, summary, input";
const state = document.getElementById("live-state");
const shown = new WeakMap();
const list = () => document.querySelector("[data-rows]");
const source = (row) => row.outerHTML.replace(VOLATILE, "");
const busy = (row) => row.querySelector("details[open]") !== null;
const newer = (one, other) => one.localeCompare(other, "en", { numeric: true }) > 0;
let timer = 0;
let fetching = false;
let again = false;
let failed = false;

function say(words) {
  if (state && state.textContent !== words) state.textContent = words;
}

function replace(standing, fresh) {
  const focused = [...standing.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  standing.replaceWith(fresh);
  if (focused >= 0) fresh.querySelectorAll(FOCUSABLE)[focused]?.focus({ preventScroll: true });
  globalThis.htmx?.process(fresh);
}

/** Answers the row that stands there now. */
function renew(standing, fresh) {
  const html = source(fresh);
  if (shown.get(standing) === html || busy(standing)) return standing;
  shown.set(fresh, html);
  replace(standing, fresh);
  return fresh;
}

function put(rows, whole) {
  const root = list();
  let at = root.firstElementChild;
  for (const fresh of rows) {
    const standing = document.getElementById(fresh.id);
    const row = standing ? renew(standing, fresh) : fresh;
    if (!standing) shown.set(fresh, source(fresh));
    if (standing === at) at = row;
    if (row !== at) {
      const focused = row.contains(document.activeElement) ? document.activeElement : null;
      root.insertBefore(row, at);
      focused?.focus({ preventScroll: true });
    } else at = at.nextElementSibling;
  }
  const last = rows.at(-1)?.dataset.order ?? "";
  while (at) {
    const next = at.nextElementSibling;
    if (at.dataset.order !== undefined && (whole || newer(at.dataset.order, last))) at.remove();
    at = next;
  }
}

async function refresh() {
  timer = 0;
  const root = list();
  if (!root) return;
  if (fetching) return void (again = true);
  fetching = true;
  try {
    const reply = await fetch(root.dataset.rows, { headers: { "HX-Request": "true" } });
    if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
    const template = document.createElement("template");
    template.innerHTML = await reply.text();
    const fresh = [...template.content.querySelectorAll("li[data-order]")];
    failed = false;
    if (root.matches(".empty")) return fresh.length ? location.reload() : undefined;
    if (list() === root) put(fresh, !template.content.querySelector("li.more"));
  } catch {
    failed = true;
    say("Not up to date: the server does not answer.");
  } finally {
    fetching = false;
    if (again) soon();
    again = false;
  }
}

const look = whenSeen(refresh);

function soon() {
  timer ||= setTimeout(look, GENTLE_MS);
}

const first = list();
if (first?.dataset.every) {
  setInterval(look, Number(first.dataset.every) * 1000);
} else if (first) {
  follow({ project: first.dataset.project, since: Number(first.dataset.events), say, heard: soon, opened: () => failed && look() });
}

/**
 * Lists that are updated live. `data-rows` on a list, or on what is shown in place of one, is the address that returns its present rows;
 * `data-project` and `data-events` say what to follow, or `data-every` after how many seconds to look again. Each row
 * has an id and says by `data-order` where it belongs. Only rows that changed are touched; those loaded later stay.
 */

import { whyNot } from "../../forms/refusal.js";
import { all, focusedAt, focusOn, fragment } from "../elements.js";
import { followEvents, whenSeen } from "./event-stream.js";

const GENTLE_MS = 2500;
/* As many as the server gives at once. */
const MOST_ROWS = 200;
const VOLATILE = /name="csrfmiddlewaretoken" value="[^"]*"/g;
const FOCUSABLE = "a, button, summary, input";
const state = document.getElementById("live-state");
/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();
const list = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-rows]"));
const source = (/** @type {Element} */ row) => row.outerHTML.replace(VOLATILE, "");
const busy = (/** @type {Element} */ row) => row.hasAttribute("data-editing") || row.querySelector("details[open]") !== null;
const newer = (/** @type {string} */ one, /** @type {string} */ other) => one.localeCompare(other, "en", { numeric: true }) > 0;
let timer = 0;
let fetching = false;
let again = false;
let failed = false;
let followed = false;

/** @param {string} words */
function say(words) {
  if (state && state.textContent !== words) state.textContent = words;
}

/** @param {HTMLElement} current @param {HTMLElement} fresh */
function replace(current, fresh) {
  const focused = focusedAt([...current.querySelectorAll(FOCUSABLE)]);
  current.replaceWith(fresh);
  if (focused >= 0) focusOn(fresh.querySelectorAll(FOCUSABLE)[focused]);
  globalThis.htmx?.process(fresh);
}

/** @param {HTMLElement} current @param {HTMLElement} fresh @returns the row that is shown now */
function renew(current, fresh) {
  const html = source(fresh);
  if (shown.get(current) === html || busy(current)) return current;
  shown.set(fresh, html);
  replace(current, fresh);
  return fresh;
}

/** Focus on a row that goes moves to its neighbour. @param {Element} row */
function remove(row) {
  const focused = row.contains(document.activeElement);
  const heir = row.nextElementSibling ?? row.previousElementSibling;
  row.remove();
  if (focused) focusOn(heir?.querySelector(FOCUSABLE));
}

/** @param {HTMLElement} root @param {HTMLElement[]} rows @param {Element | null} more the link to the rows after them; null: there are none */
function put(root, rows, more) {
  const last = rows.at(-1)?.dataset.order;
  const wanted = new Set(rows.map(({ id }) => id));
  const others = all(root, "li[data-order]").filter(({ id }) => !wanted.has(id));
  const gone = others.filter(({ dataset }) => !more || (last !== undefined && newer(dataset.order ?? "", last)));
  for (const row of gone) remove(row);
  let at = root.firstElementChild;
  for (const fresh of rows) {
    const current = document.getElementById(fresh.id);
    const row = current ? renew(current, fresh) : fresh;
    if (!current) shown.set(fresh, source(fresh));
    if (current === at) at = row;
    if (row !== at) {
      const focused = row.contains(document.activeElement) ? document.activeElement : null;
      root.insertBefore(row, at);
      if (!current) globalThis.htmx?.process(row);
      focusOn(focused);
    } else at = at.nextElementSibling;
  }
  if (gone.length === others.length) goOn(root, more);
}

/** Rows that took the place of others must not come again with the next page. @param {HTMLElement} root @param {Element | null} more */
function goOn(root, more) {
  const present = root.querySelector("li.more");
  if (!present || present.querySelector(".htmx-request")) return;
  if (!more) return present.remove();
  const addressOf = (/** @type {Element} */ item) => item.querySelector("a")?.getAttribute("href");
  if (addressOf(present) === addressOf(more)) return;
  present.replaceWith(more);
  globalThis.htmx?.process(more);
}

/** From the first row to none, and back. @param {HTMLElement} root @param {DocumentFragment} content */
function exchange(root, content) {
  const other = content.querySelector("[data-rows]");
  if (!other) return;
  const focused = root.contains(document.activeElement);
  root.replaceWith(other);
  globalThis.htmx?.process(other);
  if (focused) focusOn(document.getElementById("main"));
}

/** As many rows as are shown: those that are gone are known by it. @param {HTMLElement} root */
function address(root) {
  const asked = new URL(root.dataset.rows ?? "", location.href);
  const rows = root.querySelectorAll("li[data-order]").length;
  if (rows) asked.searchParams.set("rows", String(Math.min(rows, MOST_ROWS)));
  return asked;
}

async function refresh() {
  timer = 0;
  const root = list();
  if (!root) return;
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    const reply = await fetch(address(root), { headers: { "HX-Request": "true" } });
    if (reply.redirected || !reply.ok) {
      failed = true;
      return say(`Not up to date: ${whyNot(reply)}.`);
    }
    const content = fragment(await reply.text());
    const [fresh, more] = [all(content, "li[data-order]"), content.querySelector("li.more")];
    failed = false;
    if (list() !== root) return;
    if (root.matches(".empty") === Boolean(fresh.length || more)) exchange(root, content);
    else put(root, fresh, more);
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
  if (!timer) timer = setTimeout(look, GENTLE_MS);
}

/** A page that was opened with another filter may have had no list. */
function follow() {
  const first = list();
  if (followed || !first) return;
  followed = true;
  if (first.dataset.every) {
    setInterval(look, Number(first.dataset.every) * 1000);
    return;
  }
  followEvents({
    project: first.dataset.project ?? "",
    since: Number(first.dataset.events),
    say,
    heard: soon,
    opened: () => failed && look(),
  });
}

follow();
document.body.addEventListener("htmx:load", follow);
document.body.addEventListener("changed", look);
/* Back: the browser shows the page as it was left. */
addEventListener("pageshow", ({ persisted }) => {
  const [visit] = performance.getEntriesByType("navigation");
  if (persisted || (visit instanceof PerformanceNavigationTiming && visit.type === "back_forward")) look();
});

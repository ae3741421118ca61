/**
 * Lists that are updated live. `data-rows` on a list is the address that returns its present first rows;
 * `data-project` and `data-events` say what to follow, or `data-every` after how many seconds to look again. Each row
 * has an id and says by `data-order` where it belongs. Only rows that changed are touched; those loaded later stay.
 */

import { all, focusedAt, focusOn, fragment } from "./elements.js";
import { followEvents, reload, whenSeen } from "./event-stream.js";

const GENTLE_MS = 2500;
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

/** @param {HTMLElement} root @param {HTMLElement[]} rows @param {boolean} whole there are no others */
function put(root, rows, whole) {
  let at = root.firstElementChild;
  for (const fresh of rows) {
    const current = document.getElementById(fresh.id);
    const row = current ? renew(current, fresh) : fresh;
    if (!current) shown.set(fresh, source(fresh));
    if (current === at) at = row;
    if (row !== at) {
      const focused = row.contains(document.activeElement) ? document.activeElement : null;
      root.insertBefore(row, at);
      focusOn(focused);
    } else at = at.nextElementSibling;
  }
  const last = rows.at(-1)?.dataset.order ?? "";
  while (at) {
    const next = at.nextElementSibling;
    const order = at.getAttribute("data-order");
    if (order !== null && (whole || newer(order, last))) at.remove();
    at = next;
  }
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
    const reply = await fetch(root.dataset.rows ?? "", { headers: { "HX-Request": "true" } });
    if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
    const content = fragment(await reply.text());
    const fresh = all(content, "li[data-order]");
    failed = false;
    if (root.matches(".empty")) return fresh.length ? reload() : undefined;
    if (list() === root) put(root, fresh, !content.querySelector("li.more"));
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

const first = list();
if (first?.dataset.every) {
  setInterval(look, Number(first.dataset.every) * 1000);
} else if (first) {
  followEvents({
    project: first.dataset.project ?? "",
    since: Number(first.dataset.events),
    say,
    heard: soon,
    opened: () => failed && look(),
  });
}

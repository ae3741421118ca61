/**
 * `/` search, `j` and `k` move through lists and from message to message, `g p` projects, `u` focuses the last Undo button, `?` shows this list.
 * Enter opens by itself: the rows' titles are links.
 */

import { all, around, byId, focusedAt } from "./elements.js";

const WRITING = "input, textarea, select, [contenteditable]";
let before = "";

/** From message to message, starting with the one at the top of the view. @param {HTMLElement[]} articles @param {number} step */
function read(articles, step) {
  const focused = document.activeElement?.closest("article");
  const at = focused ? articles.indexOf(focused) : -1;
  const seen = articles.findIndex((article) => article.getBoundingClientRect().bottom > 0);
  const next = articles[at < 0 ? Math.max(seen, 0) : Math.min(articles.length - 1, Math.max(0, at + step))];
  next.tabIndex = -1;
  /** @type {FocusOptions & {focusVisible: boolean}} */
  const options = { preventScroll: true, focusVisible: true };
  next.focus(options);
  next.scrollIntoView({ block: "start" });
}

/** @param {number} step */
function move(step) {
  const articles = all(document, "[role=log] article");
  if (articles.length) return read(articles, step);
  const titles = all(document, "main .list .title");
  if (!titles.length) return;
  const at = focusedAt(titles);
  const next = titles[Math.min(titles.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** @param {string} selector */
const first = (selector) => all(document, selector)[0];

/** @type {Record<string, () => void>} */
const ACTS = {
  "/": () => document.getElementById("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  gp: () => first(".brand").click(),
  u: () => first("[role=status] button:not([hidden])")?.focus(),
  "?": () => byId("shortcuts", HTMLDialogElement).showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || around(event, WRITING)) return;
  const act = ACTS[before + event.key] ?? ACTS[event.key];
  before = event.key === "g" ? "g" : "";
  if (act) {
    event.preventDefault();
    act();
  }
});

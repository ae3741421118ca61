/**
 * The keys of every page. They are listed in templates/layout/_shortcuts.html, which `?` shows.
 *
 * An element with `data-key` is pressed by that key: in the row or message that has the focus, else in the page outside of rows.
 * `data-does` says what it does if its text does not. Enter opens by itself: the rows' titles are links.
 */

import { all, around, byId, composes, focusedAt, one } from "../elements.js";
import { toast } from "../toasts.js";
import { nameOf, press, rowOf, unfold } from "./acts.js";

const WRITING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const QUESTIONS = "[data-role=user], [data-role=human]";
const ON_A_MAC = /mac|iphone|ipad/i.test(navigator.platform);
let before = "";

/** @param {HTMLElement} article */
function show(article) {
  article.tabIndex = -1;
  /** @type {FocusOptions & {focusVisible: boolean}} */
  const options = { preventScroll: true, focusVisible: true };
  article.focus(options);
  article.scrollIntoView({ block: "start" });
}

/** From message to message, starting with the one at the top of the view. @param {HTMLElement[]} articles @param {number} step */
function read(articles, step, kind = "article") {
  const present = row();
  const from = present ? articles.indexOf(present) : -1;
  const seen = articles.findIndex((article) => article.getBoundingClientRect().bottom > 0);
  for (let at = from < 0 ? Math.max(seen, 0) : from + step; articles[at]; at += step) {
    if (articles[at].matches(kind)) return show(articles[at]);
  }
}

/** @param {number} step */
function move(step) {
  const articles = all(document, "[role=log] article");
  if (articles.length) return read(articles, step);
  const titles = all(document, "main .list .title");
  if (!titles.length) return;
  const row = rowOf(document.activeElement);
  const at = row ? titles.findIndex((title) => row.contains(title)) : focusedAt(titles);
  const next = titles[Math.min(titles.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** @param {string} selector */
const first = (selector) => all(document, selector)[0];
/** The message or row with the focus, else the one that the address names. */
const row = () => rowOf(document.activeElement) ?? rowOf(document.querySelector(":target"));
/** @param {string} path */
const go = (path) => first(`.nav a[href="${path}"]`)?.click();

/** Shows all keys: those of every page, then what this page adds. */
function showKeys() {
  const here = byId("shortcuts-here", HTMLElement);
  const names = all(document, "main [data-key]").map((element) => `${element.dataset.key} ${nameOf(element)}`);
  here.replaceChildren(
    ...[...new Set(names)].sort().map((name) => {
      const line = document.createElement("div");
      const [key, does] = [document.createElement("kbd"), document.createElement("dt")];
      key.textContent = name[0];
      does.textContent = name.slice(2);
      const cell = document.createElement("dd");
      cell.append(key);
      line.append(does, cell);
      return line;
    }),
  );
  one(document, "#shortcuts section", HTMLElement).hidden = !names.length;
  byId("shortcuts", HTMLDialogElement).showModal();
}

/** Its script is loaded when it is used; what is typed meanwhile is already in its field. */
async function openPalette() {
  const dialog = document.getElementById("palette");
  // Pages without a frame, such as the sign-in, have none.
  if (!(dialog instanceof HTMLDialogElement)) return;
  if (dialog.open) return dialog.close();
  const former = row();
  dialog.showModal();
  // Null: the server is away, or has another version since.
  const palette = await import("./palette.js").catch(() => null);
  if (palette) return palette.fill(former);
  dialog.close();
  toast("The commands cannot be loaded. Reload the page.", { error: true });
}

/** @type {Record<string, () => void>} */
const ACTS = {
  "/": () => press(first("#find") ?? first("#search")),
  j: () => move(1),
  k: () => move(-1),
  "]": () => read(all(document, "[role=log] article"), 1, QUESTIONS),
  "[": () => read(all(document, "[role=log] article"), -1, QUESTIONS),
  gp: () => first(".brand").click(),
  go: () => go("/overview/"),
  gc: () => go("/chat/"),
  // The newest one.
  u: () => all(document, "#toasts-status button, #chat-toast button:not([hidden])").at(-1)?.focus(),
  "?": showKeys,
};

/** @param {KeyboardEvent} event */
function actOf(event) {
  const act = ACTS[before + event.key] ?? ACTS[event.key];
  if (act) return act;
  if (event.repeat || !/^[a-z]$/.test(event.key)) return null;
  const present = row();
  const keyed = all(document, `main [data-key=${event.key}]`).filter((element) => !element.hidden);
  const element = (present && keyed.find((one) => present.contains(one))) ?? keyed.find((one) => !rowOf(one));
  if (element) return () => press(element);
  return event.key === "x" && present ? () => unfold(present) : null;
}

/** @param {KeyboardEvent} event */
const opensPalette = (event) =>
  (ON_A_MAC ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) &&
  !event.altKey &&
  !event.shiftKey &&
  (event.key.toLowerCase() === "k" || event.code === "KeyK");

document.addEventListener("keydown", (event) => {
  if (composes(event)) return;
  const dialog = document.querySelector("dialog:modal");
  if (opensPalette(event) && (!dialog || dialog.id === "palette")) {
    event.preventDefault();
    return void openPalette();
  }
  if (dialog || event.ctrlKey || event.metaKey || event.altKey || around(event, WRITING)) return;
  const act = actOf(event);
  before = event.key === "g" ? "g" : "";
  if (act) {
    event.preventDefault();
    act();
  }
});

for (const button of all(document, "[data-palette]")) {
  button.hidden = false;
  button.title = ON_A_MAC ? "⌘K" : "Ctrl K";
  button.addEventListener("click", openPalette);
}

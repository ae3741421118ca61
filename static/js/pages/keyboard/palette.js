/** The command palette: what the page can do, other places, and projects and sessions, which the server finds. */

import { all, byId, composes } from "../elements.js";
import { commandsOf, nameOf, press } from "./acts.js";

/**
 * @typedef {{label: string, hint?: string, href?: string, act?: () => void}} Option
 * @typedef {{label: string, items: Option[]}} Group
 */

const WAIT_MS = 120;
const MOST_COMMANDS = 5;
const dialog = byId("palette", HTMLDialogElement);
const field = byId("palette-field", HTMLInputElement);
const list = byId("palette-options", HTMLElement);
const state = byId("palette-state", HTMLElement);
/** @type {HTMLElement | null} */
let row = null;
/** @type {Option[]} */
let shown = [];
/** @type {Group[]} */
let found = [];
let at = 0;
/** Whether an option was chosen by hand since the last letter. */
let moved = false;
let timer = 0;
let latest = 0;

/** @param {string} label @param {HTMLElement[]} elements @returns {Group} */
const commands = (label, elements) => ({
  label,
  items: elements.map((element) => ({ label: nameOf(element), act: () => press(element) })),
});

/** One spelling of what the server takes for the same letters. @param {string} text */
const folded = (text) => text.normalize().replaceAll("İ", "i").toLowerCase().replaceAll("ς", "σ");

/**
 * Those that have every word that was typed; first those that begin with it.
 * @param {Group} group @param {number} most @returns {Group}
 */
function filtered(group, most) {
  const typed = folded(field.value.trim());
  const words = typed.split(/\s+/);
  const matches = (/** @type {Option} */ { label, hint }) =>
    words.every((word) => folded(`${label} ${hint ?? ""}`).includes(word));
  const begins = (/** @type {Option} */ { label }) => Number(folded(label).startsWith(typed));
  const items = group.items.filter(matches).sort((one, other) => begins(other) - begins(one));
  return { ...group, items: items.slice(0, most) };
}

/** @returns {Group[]} */
function groups() {
  const words = field.value.trim();
  const main = byId("main", HTMLElement);
  const selected = row?.isConnected ? [commands("The selected row", commandsOf(main, row))] : [];
  const places = commands("Go to", all(document, ".sidebar nav.push :is(a, button)"));
  const search = { label: `Search everything for “${words}”`, href: `/search/?in=everything&q=${encodeURIComponent(words)}` };
  return [
    ...selected.map((group) => filtered(group, MOST_COMMANDS)),
    filtered(commands("On this page", commandsOf(main, null)), words ? Infinity : MOST_COMMANDS),
    // Those of the former text, until the answer for this one arrives.
    ...found.map((group) => filtered(group, Infinity)),
    filtered(places, Infinity),
    { label: "Search", items: words ? [search] : [] },
  ];
}

/** @param {Option} option @param {number} number */
function optionElement({ label, hint }, number) {
  const made = document.createElement("div");
  made.role = "option";
  made.id = `palette-option-${number}`;
  const [name, more] = [document.createElement("span"), document.createElement("span")];
  name.textContent = label;
  more.textContent = hint ?? "";
  more.className = "hint";
  made.append(name, " ", more);
  made.addEventListener("pointermove", () => {
    if (at === number) return;
    moved = true;
    choose(number);
  });
  made.addEventListener("click", () => run(number));
  return made;
}

/** @param {number} number */
function choose(number) {
  at = Math.min(Math.max(number, 0), shown.length - 1);
  for (const [index, option] of all(list, "[role=option]").entries()) option.ariaSelected = String(index === at);
  field.setAttribute("aria-activedescendant", shown.length ? `palette-option-${at}` : "");
  document.getElementById(`palette-option-${at}`)?.scrollIntoView({ block: "nearest" });
}

function draw() {
  const some = groups().filter(({ items }) => items.length);
  shown = some.flatMap(({ items }) => items);
  let number = 0;
  list.replaceChildren(
    ...some.map(({ label, items }) => {
      const group = document.createElement("div");
      group.role = "group";
      group.ariaLabel = label;
      const heading = document.createElement("p");
      heading.textContent = label;
      heading.ariaHidden = "true";
      group.append(heading, ...items.map((item) => optionElement(item, number++)));
      return group;
    }),
  );
  list.hidden = !shown.length;
  field.ariaExpanded = String(shown.length > 0);
  choose(0);
}

/** @param {number} number */
function run(number) {
  const option = shown[number];
  if (!option) return;
  // The focus returns to where it was, then the command moves it.
  dialog.close();
  if (option.href) location.assign(option.href);
  else option.act?.();
}

async function ask() {
  const number = ++latest;
  try {
    const reply = await fetch(`${dialog.dataset.options}?q=${encodeURIComponent(field.value.trim())}`);
    if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
    const answer = await reply.json();
    if (number !== latest) return;
    found = answer.groups;
    state.textContent = "";
  } catch {
    if (number !== latest) return;
    found = [];
    state.textContent = "Projects and sessions cannot be found now. Is the server running, and are you signed in?";
  }
  const chosen = shown[at];
  draw();
  const again = shown.findIndex(({ label, href }) => label === chosen?.label && href === chosen.href);
  // A search is the first option only while nothing was found yet.
  if (again > 0 && (moved || !chosen?.href?.startsWith("/search/"))) choose(again);
}

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT_MS);
  moved = false;
  draw();
});
field.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
  if (composes(event) || (!step && event.key !== "Enter")) return;
  event.preventDefault();
  if (!step) return run(at);
  moved = true;
  choose(at + step);
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
dialog.addEventListener("close", () => {
  field.value = "";
  latest += 1;
  clearTimeout(timer);
});

/** Fills the opened palette. @param {HTMLElement | null} selected the row or message that had the focus */
export function fill(selected) {
  row = selected;
  found = [];
  draw();
  ask();
}

/** For every page: the theme switch, the menu on small screens, toasts, copying, keyboard shortcuts. */

import { NO_ANSWER, repeatWithToken, SIGNED_OUT } from "../forms/login-token.js";
import "../forms/one-answer.js";
import { copyFrom, copyText } from "./clipboard.js";
import { all, around, byId, one } from "./elements.js";
import { store } from "./stored.js";
import { clearErrors, toast } from "./toasts.js";
import "./dialog.js";
import "./keyboard/shortcuts.js";
import "./relative-times.js";

/** htmx tells of a request again, on a parent, if its form was replaced meanwhile. @type {WeakSet<XMLHttpRequest>} */
const heard = new WeakSet();
const THEMES = ["system", "light", "dark"];
/* Loaded when something is typed: until then a form has nothing to lose. */
const keepTyped = () =>
  import("../forms/typed-input.js").then(
    () => removeEventListener("input", keepTyped),
    () => {},
  );
addEventListener("input", keepTyped);

/** @param {HTMLElement} button */
function setUpTheme(button) {
  const root = document.documentElement;
  const show = () => {
    const chosen = root.dataset.theme ?? "system";
    one(button, "span", HTMLElement).textContent = `Theme: ${chosen}`;
  };
  show();
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "system") + 1) % THEMES.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    store("stillhere.theme", next === "system" ? null : next);
    show();
  });
}

/** @param {HTMLElement} button */
function setUpMenu(button) {
  const more = one(document, `#${button.getAttribute("aria-controls")}`, HTMLElement);
  button.addEventListener("click", () => {
    const open = more.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  });
}

/** A message is copied as it was written, everything else as it is shown. @param {HTMLElement} button */
function copy(button) {
  const transcript = button.closest("[data-source]");
  const message = button.closest("[data-source] article");
  if (transcript instanceof HTMLElement && message instanceof HTMLElement) {
    const { source } = transcript.dataset;
    return copyFrom(
      `${source}?id=${encodeURIComponent(message.dataset.id ?? "")}`,
      "It could not be copied: the server does not answer, or you are signed out.",
    );
  }
  if (button.dataset.copy) return copyText(byId(button.dataset.copy, HTMLElement));
  return copyFrom(button.dataset.copyFrom ?? "", "It could not be copied. Download it instead.");
}

/** Where the form of an event of htmx is sent to. @param {Event} event */
const addressOf = (event) => around(event, "[hx-post]")?.getAttribute("hx-post") ?? "";

/** A menu closes with Escape, by a click elsewhere, or when another one opens. @param {Event} event */
function closeMenus({ target }) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!(target instanceof Node && menu.contains(target))) menu.removeAttribute("open");
  }
}

/* After the page: what it needs without the server, and what waits for the server. */
if (document.querySelector(".frame")) {
  addEventListener("load", async () => (await import("../chat/offline/offline.js")).begin());
}
document.addEventListener("click", closeMenus);
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" ? around(event, "details.menu[open]") : null;
  if (!menu) return;
  menu.removeAttribute("open");
  one(menu, "summary", HTMLElement).focus();
});
/* If the tabs do not fit, scroll to the open one. */
for (const tab of all(document, ".tabs [aria-current]")) {
  const bar = tab.parentElement;
  if (bar) bar.scrollLeft = tab.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2;
}
for (const button of all(document, "[data-theme-switch]")) setUpTheme(button);
for (const button of all(document, ".menu-button")) setUpMenu(button);
document.addEventListener("click", (event) => {
  const button = around(event, "[data-copy], [data-copy-from]");
  if (button) copy(button);
});
document.body.addEventListener("htmx:afterRequest", (event) => {
  const { xhr } = event.detail;
  if (xhr.status < 400 || heard.has(xhr)) return;
  heard.add(xhr);
  if (repeatWithToken(event.detail)) return;
  const told = xhr.getResponseHeader("Stillhere-Message");
  toast(told ? decodeURIComponent(told) : "That did not work. Reload the page and try again.", {
    error: true,
    form: addressOf(event),
  });
});
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (!event.detail.xhr.responseURL.includes("/login/?next=")) return;
  event.detail.shouldSwap = false;
  toast(SIGNED_OUT, { error: true });
});
document.body.addEventListener("htmx:sendError", (event) => toast(NO_ANSWER, { error: true, form: addressOf(event) }));
document.body.addEventListener("toast", (event) => toast(event.detail.message, { ...event.detail, form: addressOf(event) }));
document.body.addEventListener("htmx:beforeRequest", (event) => clearErrors(addressOf(event)));

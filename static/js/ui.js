/** What every page has: the theme switch, the menu on small screens, toasts, copying, keys. */

import { copyText } from "./copying.js";
import { toast } from "./toasts.js";
import "./dialog.js";
import "./keyboard.js";
import "./times.js";

const THEMES = ["system", "light", "dark"];

function setUpTheme(button) {
  const root = document.documentElement;
  const show = () => {
    const chosen = root.dataset.theme ?? "system";
    button.querySelector("span").textContent = `Theme: ${chosen}`;
  };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "system") + 1) % THEMES.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === "system") localStorage.removeItem("stillhere.theme");
      else localStorage.setItem("stillhere.theme", next);
    } catch {
      /* It holds for this page then. */
    }
    show();
  });
}

function setUpMenu(button) {
  const more = document.getElementById(button.getAttribute("aria-controls"));
  button.addEventListener("click", () => {
    const open = more.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  });
}

/* What the clipboard gets is asked for first; where it refuses, the download beside the button does. */
async function copyFrom(button) {
  try {
    const reply = await fetch(button.dataset.copyFrom);
    if (!reply.ok) throw new Error(String(reply.status));
    await navigator.clipboard.writeText(await reply.text());
    toast("Copied.");
  } catch {
    toast("It could not be copied. Download it instead.", { error: true });
  }
}

/* A menu closes with Escape, by a click elsewhere, or when another one opens. */
function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(except)) menu.open = false;
}

document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
/* Where tabs do not fit, the one that is open is among those in sight. */
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
}
document.querySelectorAll("[data-theme-switch]").forEach(setUpTheme);
document.querySelectorAll(".menu-button").forEach(setUpMenu);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button?.dataset.copy) copyText(document.getElementById(button.dataset.copy));
  else if (button) copyFrom(button);
});
/* Only who has scripts can copy. */
const offerCopies = (root) => root.querySelectorAll("[data-copy], [data-copy-from]").forEach((button) => (button.hidden = false));
offerCopies(document);
document.body.addEventListener("htmx:load", (event) => offerCopies(event.detail.elt));
document.body.addEventListener("htmx:afterRequest", (event) => {
  const { xhr } = event.detail;
  if (xhr.status < 400) return;
  const told = xhr.getResponseHeader("Stillhere-Message");
  toast(told ? decodeURIComponent(told) : "That did not work. Load the page anew and try again.", { error: true });
});
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (!event.detail.xhr.responseURL.includes("/login/?next=")) return;
  event.detail.shouldSwap = false;
  toast("You are signed out. Sign in in another tab, then do it again: nothing here is lost.", { error: true });
});
document.body.addEventListener("htmx:sendError", () => toast("The server does not answer. Is it running?", { error: true }));
document.body.addEventListener("toast", (event) => toast(event.detail.message, event.detail));

/** Short messages above the page. */

import { all, byId } from "./elements.js";

const SHOWN_MS = 8000;
// Time to read it, decide and reach it by keyboard.
const UNDO_MS = 20_000;
// Of messages that offer nothing: several in a row would cover the page.
const MOST = 3;
const toasts = byId("toasts", HTMLElement);

/**
 * Show a message for a while. Errors stay until they are closed.
 * @param {string} message
 * @param {{error?: boolean, undo?: {action: string, label?: string}, form?: string}} [options] `undo.action` is posted to when chosen;
 *   `form`: the address of the form whose error it is
 */
export function toast(message, { error = false, undo, form } = {}) {
  raise();
  const region = byId(error ? "toasts-alert" : "toasts-status", HTMLElement);
  const box = document.createElement("div");
  box.className = error ? "toast error" : "toast";
  const text = document.createElement("span");
  text.textContent = message;
  box.append(text);
  if (undo) box.append(undoForm(undo));
  if (error) box.append(closeButton(box));
  if (error && form) box.dataset.form = form;
  makeRoom(region, message, !error);
  region.append(box);
  if (!error) forget(box);
}

/** The same words once, and of those that go by themselves the last ones. @param {HTMLElement} region @param {string} message @param {boolean} few */
function makeRoom(region, message, few) {
  const plain = all(region, ".toast").filter((box) => !box.querySelector("form"));
  const others = plain.filter((box) => box.firstElementChild?.textContent !== message);
  const kept = few ? others.slice(1 - MOST) : others;
  for (const box of plain) if (!kept.includes(box)) box.remove();
}

/** A form is sent again: what was wrong before is no longer said. @param {string} form */
export function clearErrors(form) {
  for (const box of all(document, "#toasts-alert .toast[data-form]")) if (box.dataset.form === form) box.remove();
}

/* Above a dialog or a drawer, which covers everything that was not raised after it. */
function raise() {
  if (!toasts.popover) toasts.popover = "manual";
  if (toasts.matches(":popover-open")) toasts.hidePopover();
  toasts.showPopover();
}

/** @param {{action: string, label?: string}} undo */
function undoForm({ action, label = "Undo" }) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = action;
  const token = document.createElement("input");
  token.type = "hidden";
  token.name = "csrfmiddlewaretoken";
  token.value = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"];
  form.append(token, button(label));
  return form;
}

/** @param {HTMLElement} box */
function closeButton(box) {
  const close = button("Close");
  close.type = "button";
  close.addEventListener("click", () => box.remove());
  return close;
}

/** @param {string} label */
function button(label) {
  const made = document.createElement("button");
  made.className = "button small";
  made.textContent = label;
  return made;
}

/** It stays while the pointer or the focus is in it. @param {HTMLElement} box */
function forget(box) {
  const shown = box.querySelector("form") ? UNDO_MS : SHOWN_MS;
  setTimeout(() => (box.matches(":hover, :focus-within") ? forget(box) : box.remove()), shown);
}

for (const box of all(document, "#toasts-status .toast")) forget(box);
for (const box of all(document, "#toasts-alert .toast")) box.append(closeButton(box));

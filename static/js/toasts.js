const SHOWN_MS = 8000;
// Time to read it, decide and come there by keys.
const UNDO_MS = 20_000;
const toasts = document.getElementById("toasts");

/**
 * Say something for a while. Errors stay until they are closed.
 * @param {string} message
 * @param {{error?: boolean, undo?: {action: string, label?: string}}} [options] `undo.action` is posted to when chosen
 */
export function toast(message, { error = false, undo } = {}) {
  raise();
  const region = document.getElementById(error ? "toasts-alert" : "toasts-status");
  const box = document.createElement("div");
  box.className = error ? "toast error" : "toast";
  const text = document.createElement("span");
  text.textContent = message;
  box.append(text);
  if (undo) box.append(undoForm(undo));
  if (error) box.append(closeButton(box));
  region.append(box);
  if (!error) forget(box);
}

/* Above a dialog or a drawer, which stands above everything that is not raised after it. */
function raise() {
  if (!toasts.popover) toasts.popover = "manual";
  if (toasts.matches(":popover-open")) toasts.hidePopover();
  toasts.showPopover();
}

function undoForm({ action, label = "Undo" }) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = action;
  const token = document.createElement("input");
  token.type = "hidden";
  token.name = "csrfmiddlewaretoken";
  token.value = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
  form.append(token, button(label));
  return form;
}

function closeButton(box) {
  const close = button("Close");
  close.type = "button";
  close.addEventListener("click", () => box.remove());
  return close;
}

function button(label) {
  const made = document.createElement("button");
  made.className = "button small";
  made.textContent = label;
  return made;
}

/* Whoever points at it or has the focus in it is not done reading. */
function forget(box) {
  const shown = box.querySelector("form") ? UNDO_MS : SHOWN_MS;
  setTimeout(() => (box.matches(":hover, :focus-within") ? forget(box) : box.remove()), shown);
}

document.querySelectorAll("#toasts-status .toast").forEach(forget);

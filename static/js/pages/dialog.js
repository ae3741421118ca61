/** The page that a form with `data-dialog` leads to is shown in a dialog. Without this script it opens as a page. */

import { around, one } from "./elements.js";

/** @param {string} address */
async function open(address) {
  const reply = await fetch(address, { headers: { "HX-Request": "true" } });
  if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
  const dialog = document.createElement("dialog");
  dialog.className = "sheet";
  dialog.innerHTML = await reply.text();
  const heading = one(dialog, "h2", HTMLElement);
  heading.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (!around(event, "[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
  document.body.append(dialog);
  globalThis.htmx?.process(dialog);
  dialog.showModal();
}

document.addEventListener("submit", (event) => {
  // Enter in the search field would request what is shown already.
  if (event.submitter?.matches(".transfer [value=find]")) return event.preventDefault();
  const form = around(event, "form[data-dialog]");
  if (!(form instanceof HTMLFormElement)) return;
  event.preventDefault();
  open(form.action).catch(() => form.submit());
});

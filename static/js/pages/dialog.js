/** The page that a form with `data-dialog` leads to is shown in a dialog. Without this script it opens as a page. */

import { around, focusOn, one } from "./elements.js";

/** @param {string} address */
async function open(address) {
  const reply = await fetch(address, { headers: { "HX-Request": "true" } });
  if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
  const dialog = document.createElement("dialog");
  dialog.className = "sheet";
  dialog.innerHTML = await reply.text();
  // A double click asks twice.
  if (document.querySelector(".sheet[open]")) return;
  const heading = one(dialog, "h2", HTMLElement);
  heading.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", heading.id);
  const drawer = document.activeElement?.closest("[popover]");
  dialog.addEventListener("close", () => {
    dialog.remove();
    // A drawer closes under a dialog, and its button in it with it.
    if (drawer && !drawer.matches(":popover-open"))
      focusOn(document.querySelector(`[popovertarget="${drawer.id}"]:not([popovertargetaction])`));
  });
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
  // Enter would request what is shown already. Where a target is chosen, it goes on to the button; the next Enter transfers.
  if (event.submitter?.matches(".transfer [value=find]")) {
    event.preventDefault();
    const places = one(document, "#transfer-places", HTMLElement);
    if (places.querySelector(":focus:checked")) one(document, ".transfer [value=transfer]", HTMLButtonElement).focus();
    return;
  }
  const form = around(event, "form[data-dialog]");
  if (!(form instanceof HTMLFormElement)) return;
  event.preventDefault();
  open(form.action).catch(() => form.submit());
});

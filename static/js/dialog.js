/** A form with `data-dialog` leads to a page that is shown in a dialog over this one. Without this script it is a page. */

async function open(address) {
  const reply = await fetch(address, { headers: { "HX-Request": "true" } });
  if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
  const dialog = document.createElement("dialog");
  dialog.className = "sheet";
  dialog.innerHTML = await reply.text();
  const heading = dialog.querySelector("h2");
  heading.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
  document.body.append(dialog);
  globalThis.htmx?.process(dialog);
  dialog.showModal();
}

document.addEventListener("submit", (event) => {
  // What Enter in the search field would ask for is there already.
  if (event.submitter?.matches(".transfer [value=find]")) return event.preventDefault();
  const form = event.target.closest("form[data-dialog]");
  if (!form) return;
  event.preventDefault();
  open(form.action).catch(() => form.submit());
});

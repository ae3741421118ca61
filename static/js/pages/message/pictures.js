/** A picture of a message is shown large, with the others of the transcript before and after it. Without scripts it is downloaded. */

import { all, around } from "../elements.js";
import { toast } from "../toasts.js";

document.addEventListener("click", async (event) => {
  const link = around(event, "[data-picture]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const links = all(link.closest("[role=log]") ?? document, "[data-picture]");
  // Null: the server is away, or has another version since.
  const module = await import("./lightbox.js").catch(() => null);
  if (!module) toast("The image cannot be shown. Reload the page.", { error: true });
  else if (!document.querySelector("dialog.lightbox")) new module.Lightbox(links, links.indexOf(link));
});

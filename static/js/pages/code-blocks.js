/** A copy button on every block of code. */

import { copyText } from "./clipboard.js";
import { all, around } from "./elements.js";

/** @param {ParentNode} root */
export function addCopyButtons(root) {
  for (const block of all(root, ".words pre")) {
    if (block.parentElement?.classList.contains("code")) continue;
    const box = document.createElement("div");
    box.className = "code";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small";
    // Its label comes from the style sheet, so that it is not copied with the message.
    button.ariaLabel = "Copy code";
    button.dataset.code = "";
    block.replaceWith(box);
    box.append(block, button);
  }
}

document.addEventListener("click", (event) => {
  const block = around(event, "[data-code]")?.previousElementSibling;
  if (block instanceof HTMLElement) copyText(block);
});

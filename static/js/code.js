/** A button to copy it, on every block of code. */

import { copyText } from "./copying.js";

/** @param {ParentNode} root */
export function dress(root) {
  for (const block of root.querySelectorAll(".words pre")) {
    if (block.parentElement.classList.contains("code")) continue;
    const box = document.createElement("div");
    box.className = "code";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small";
    // Its word comes from the style sheet, so that copying the message does not take it along.
    button.ariaLabel = "Copy code";
    button.dataset.code = "";
    block.replaceWith(box);
    box.append(block, button);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-code]");
  if (button) copyText(button.previousElementSibling);
});

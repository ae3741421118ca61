/** Buttons on every block of code: wrap long lines, copy, show all of a folded one. Without this script a block scrolls. */

import { copyText } from "../clipboard.js";
import { all, around } from "../elements.js";

/** Blocks in a closed fold get theirs when it is opened: a transcript has many. @param {ParentNode} root */
export function addCodeButtons(root) {
  for (const block of all(root, ".words pre:not(.math)")) {
    if (block.parentElement?.classList.contains("code") || block.closest("details:not([open])")) continue;
    const box = document.createElement("div");
    const acts = document.createElement("span");
    const { lines } = block.dataset;
    box.className = "code";
    acts.className = "code-acts";
    if (!block.classList.contains("text")) acts.append(button("wrap", "Wrap lines"));
    acts.append(button("code", "Copy code"));
    block.replaceWith(box);
    box.append(block, acts);
    if (lines) box.append(button("unfold", `Show all ${lines} lines`));
  }
}

/** Its label comes from the style sheet, so that it is not copied with the message. @param {string} act @param {string} label */
function button(act, label) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: "button small", ariaLabel: label });
  made.dataset[act] = label;
  if (act !== "code") made.ariaPressed = "false";
  return made;
}

/** @param {HTMLElement} pressed @param {HTMLElement} box */
function act(pressed, box) {
  const block = box.querySelector("pre");
  if ("code" in pressed.dataset) return block && copyText(block);
  const on = box.classList.toggle("wrap" in pressed.dataset ? "wrapped" : "whole");
  pressed.ariaPressed = String(on);
  // The end of a long block is left: back to its beginning.
  if ("unfold" in pressed.dataset && !on) box.scrollIntoView({ block: "nearest" });
}

// A fold does not tell those around it that it was opened.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (target instanceof HTMLDetailsElement && target.open) addCodeButtons(target);
  },
  { capture: true },
);

document.addEventListener("click", (event) => {
  const pressed = around(event, ".code button");
  const box = around(event, ".code");
  if (pressed && box) act(pressed, box);
});

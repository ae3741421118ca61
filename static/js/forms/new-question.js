/** Nobody answers a question by a press that was meant for what stood at its place before. */

import { all } from "../pages/elements.js";

const READING_MS = 1000;
let timer = 0;

/** The question's buttons cannot be pressed for a moment. There is one question on a page. @param {ParentNode} question */
export function holdButtons(question) {
  clearTimeout(timer);
  const buttons = all(question, "button:not([hidden])");
  for (const button of buttons) button.toggleAttribute("disabled", true);
  timer = setTimeout(() => {
    for (const button of buttons) button.removeAttribute("disabled");
  }, READING_MS);
}

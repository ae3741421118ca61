/**
 * The slider of a session's history: its number follows. The page opens when the pointer lets go; by keyboard with Enter, so
 * that each step of an arrow key does not load a page.
 */

import { count } from "../pages/counts.js";
import { byId } from "../pages/elements.js";

const slider = byId("at", HTMLInputElement);
const shown = byId("at-now", HTMLElement);
let byKey = false;

slider.addEventListener("pointerdown", () => {
  byKey = false;
});
slider.addEventListener("keydown", (event) => {
  byKey = true;
  if (event.key === "Enter") slider.form?.requestSubmit();
});
slider.addEventListener("input", () => {
  shown.textContent = count(Number(slider.value));
});
slider.addEventListener("change", () => {
  if (!byKey) slider.form?.requestSubmit();
});

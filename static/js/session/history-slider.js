/** The slider of a session's history: its number follows, and the page opens when it is let go. */

import { byId } from "../pages/elements.js";

const slider = byId("at", HTMLInputElement);
const shown = byId("at-now", HTMLElement);
const group = new Intl.NumberFormat("en");

slider.addEventListener("input", () => {
  shown.textContent = group.format(Number(slider.value)).replaceAll(",", "\u202f");
});
slider.addEventListener("change", () => slider.form?.requestSubmit());

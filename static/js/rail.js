/** What stands beside a transcript: kept up to date, and a drawer where there is no room beside it. */

import { Parts } from "./parts.js";
import { toast } from "./toasts.js";

const root = document.getElementById("rail");
const opener = document.querySelector("[popovertarget=rail]");
const narrow = matchMedia("(max-width: 60rem)");
const LONGEST_TIMER_MS = 2 ** 31 - 1;
let expiry = 0;

/** Shows the title that it has by now; says on the drawer's button that an agent waits, and looks again when its question expires. */
function placed() {
  const title = document.getElementById("title").defaultValue || "Untitled session";
  document.querySelector("h1").textContent = title;
  const question = document.querySelector("#rail-question[data-open]");
  opener.classList.toggle("waiting", Boolean(question));
  opener.querySelector("span").textContent = question ? "an agent waits for you" : "";
  document.title = `${question ? "● " : ""}${title} · Stillhere`;
  clearTimeout(expiry);
  if (!question?.dataset.until) return;
  const left = new Date(question.dataset.until) - Date.now();
  if (left < LONGEST_TIMER_MS) expiry = setTimeout(() => rail.refresh(), Math.max(500, left + 500));
}

export const rail = new Parts(root, {
  placed,
  failed: () => toast("What stands beside the transcript is not up to date: the server does not answer."),
});

function fit() {
  root.popover = narrow.matches ? "auto" : null;
  opener.hidden = !narrow.matches;
}

narrow.addEventListener("change", fit);
fit();

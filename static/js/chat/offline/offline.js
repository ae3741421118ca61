/** What the pages of a signed-in user do besides their own work: open without the server, and show what waits for it. */
import { register } from "./registration.js";
import { WaitingBadge } from "./waiting-badge.js";

export function begin() {
  const frame = document.querySelector(".frame");
  if (!(frame instanceof HTMLElement)) return;
  if (frame.dataset.offline !== undefined) register();
  new WaitingBadge(frame.dataset.user ?? "").begin();
}

/** The Handoff tab is updated live with changes by agents and other people. */

import { byId } from "./pages/elements.js";
import { followEvents } from "./pages/live/event-stream.js";
import { LiveParts } from "./pages/live/parts.js";
import { toast } from "./pages/toasts.js";

/** @import { PageEvent } from "./pages/live/event-stream.js" */

const NEWS = new Set(["HANDOFF_CHANGED", "HANDOFF_FROZEN", "RESYNC"]);
const root = byId("handoff", HTMLElement);
/** @param {string} words */
const say = (words) => {
  byId("live-state", HTMLElement).textContent = words;
};
const parts = new LiveParts(root, { failed: (why) => toast(`This page is not up to date: ${why}.`) });
const heard = (/** @type {PageEvent} */ { type }) => NEWS.has(type) && parts.refresh();
followEvents({
  project: root.dataset.project ?? "",
  since: Number(root.dataset.events),
  say,
  heard,
  opened: () => parts.refresh(),
});

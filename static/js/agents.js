/** The Agents tab: clients and calls are read every few seconds, the lease follows the project's events. */

import { byId } from "./pages/elements.js";
import { followEvents } from "./pages/live/event-stream.js";
import { pollParts } from "./pages/live/parts.js";

const root = byId("agents-tab", HTMLElement);
const parts = pollParts(root);
/** @param {string} words */
const say = (words) => {
  byId("live-state", HTMLElement).textContent = words;
};
followEvents({
  project: root.dataset.project ?? "",
  since: Number(root.dataset.events),
  say,
  heard: ({ type }) => (type === "LEASE_CHANGED" || type === "RESYNC") && parts.refresh(),
  opened: () => parts.refresh(),
});

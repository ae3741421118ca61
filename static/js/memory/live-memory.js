/** The pages of a project's memory follow its events: rows are replaced, and an open value is marked as outdated. */

import { all, byId, one } from "../pages/elements.js";
import { followEvents } from "../pages/live/event-stream.js";
import { LiveParts } from "../pages/live/parts.js";
import { toast } from "../pages/toasts.js";

const CHANGES = new Set(["MEMORY_CHANGED", "ERROR_RECORDED", "LEASE_CHANGED", "RESYNC"]);
const MOST_ROWS = 500;
const GENTLE_MS = 700;

/** Reloads the list for the page's present address, with as many rows as were scrolled to. */
class Region extends LiveParts {
  async _fetch() {
    const rows = this.root.querySelectorAll("li[data-part]:not(.more)").length;
    if (rows > MOST_ROWS) return;
    const address = new URL(location.href);
    if (rows) address.searchParams.set("rows", String(rows));
    this.root.dataset.parts = address.href;
    await super._fetch();
  }
}

/** @import { PageEvent } from "../pages/live/event-stream.js" */

const state = byId("live-state", HTMLElement);
const place = one(document, "[data-events]", HTMLElement);
const meanwhile = document.getElementById("meanwhile");
const failed = (/** @type {string} */ why) => toast(`This page is not up to date: ${why}.`);
const regions = all(document, "[data-parts]").map((root) => new Region(root, { failed }));
// Open beside the errors if there is room; above them it would push them down.
if (!matchMedia("(max-width: 60rem)").matches) document.getElementById("noise")?.setAttribute("open", "");
let timer = 0;

function refresh() {
  timer = 0;
  for (const region of regions) region.refresh();
}

/** @param {PageEvent} event */
function heard({ type, data }) {
  // An expired lease causes no event, so it is checked at each heartbeat of the server.
  if (!CHANGES.has(type) && !(type === "HEARTBEAT" && document.querySelector("[data-lease]"))) return;
  if (!timer) timer = setTimeout(refresh, GENTLE_MS);
  if (!meanwhile || type !== "MEMORY_CHANGED") return;
  const { namespace, key, rev } = meanwhile.dataset;
  // A batch names the first of its changes.
  const changed = [data, ...(Array.isArray(data?.entries) ? data.entries : [])];
  const here = changed.findLast(
    (one) => JSON.stringify(one?.namespace) === namespace && one?.key === key && Number(one?.rev) > Number(rev),
  );
  if (!here) return;
  const when = here.deleted ? "deleted" : "changed";
  for (const words of all(meanwhile, "[data-when]")) words.hidden = words.dataset.when !== when;
}

/** @param {string} words */
const say = (words) => {
  state.textContent = words;
};
followEvents({ project: place.dataset.project ?? "", since: Number(place.dataset.events), say, heard, opened: refresh });

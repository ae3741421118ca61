/** The pages of a project's memory follow its events: rows are put in anew, and what is being read is said to be old. */

import { follow } from "./follow.js";
import { Parts } from "./parts.js";
import { toast } from "./toasts.js";

const CHANGES = new Set(["MEMORY_CHANGED", "ERROR_RECORDED", "LEASE_CHANGED", "RESYNC"]);
const MOST_ROWS = 500;
const GENTLE_MS = 700;

/** Answered anew as the page's address says now, and as many rows of it as were scrolled to. */
class Region extends Parts {
  async _fetch() {
    const rows = this.root.querySelectorAll("li[data-part]:not(.more)").length;
    if (rows > MOST_ROWS) return;
    const address = new URL(location.href);
    if (rows) address.searchParams.set("rows", rows);
    this.root.dataset.parts = address.href;
    await super._fetch();
  }
}

const state = document.getElementById("live-state");
const place = document.querySelector("[data-events]");
const meanwhile = document.getElementById("meanwhile");
const failed = () => toast("This page is not up to date: the server does not answer.");
const regions = [...document.querySelectorAll("[data-parts]")].map((root) => new Region(root, { failed }));
// Beside the errors where there is room; above them, where there is none, it would push them away.
if (matchMedia("(max-width: 60rem)").matches) document.getElementById("noise")?.removeAttribute("open");
let timer = 0;

function refresh() {
  timer = 0;
  for (const region of regions) region.refresh();
}

function heard({ type, data }) {
  // A lease that runs out says nothing: the server's heartbeat is the time to look.
  if (!CHANGES.has(type) && !(type === "HEARTBEAT" && document.querySelector("[data-lease]"))) return;
  timer ||= setTimeout(refresh, GENTLE_MS);
  if (!meanwhile || type !== "MEMORY_CHANGED") return;
  const { namespace, key, rev } = meanwhile.dataset;
  if (data.namespace === namespace && data.key === key && data.rev > Number(rev)) meanwhile.firstElementChild.hidden = false;
}

const say = (words) => (state.textContent = words);
follow({ project: place.dataset.project, since: Number(place.dataset.events), say, heard, opened: refresh });

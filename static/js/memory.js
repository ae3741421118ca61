/** The pages of a project's memory follow its events: rows are put in anew, and what is being read is said to be old. */

import { follow } from "./follow.js";
import { Parts } from "./parts.js";

const CHANGES = new Set(["MEMORY_CHANGED", "ERROR_RECORDED", "LEASE_CHANGED", "RESYNC"]);
const MOST_ROWS = 500;
const GENTLE_MS = 700;

const place = document.querySelector("[data-events]");
const meanwhile = document.getElementById("meanwhile");
const regions = [...document.querySelectorAll("[data-parts]")].map((root) => new Parts(root));
let timer = 0;

/** As the page's address says, and as many rows of it as were scrolled to. */
function refresh() {
  timer = 0;
  for (const region of regions) {
    const rows = region.root.querySelectorAll("li[data-part]").length;
    if (rows > MOST_ROWS) continue;
    const address = new URL(location.href);
    if (rows) address.searchParams.set("rows", rows);
    region.root.dataset.parts = address.href;
    region.refresh();
  }
}

function heard({ type, data }) {
  if (!CHANGES.has(type)) return;
  timer ||= setTimeout(refresh, GENTLE_MS);
  if (!meanwhile || type !== "MEMORY_CHANGED") return;
  const { namespace, key, rev } = meanwhile.dataset;
  if (data.namespace === namespace && data.key === key && data.rev > Number(rev)) meanwhile.firstElementChild.hidden = false;
}

follow({ project: place.dataset.project, since: Number(place.dataset.events), say: () => {}, heard, opened: () => regions.length && refresh() });

/** The Handoff tab shows what agents and other people write, as they write it. */

import { follow } from "./follow.js";
import { Parts } from "./parts.js";
import { toast } from "./toasts.js";

const NEWS = new Set(["HANDOFF_CHANGED", "HANDOFF_FROZEN", "RESYNC"]);
const root = document.getElementById("handoff");
const say = (words) => (document.getElementById("live-state").textContent = words);
const parts = new Parts(root, { failed: () => toast("This page is not up to date: the server does not answer.") });
const heard = ({ type }) => NEWS.has(type) && parts.refresh();
follow({ project: root.dataset.project, since: Number(root.dataset.events), say, heard, opened: () => parts.refresh() });

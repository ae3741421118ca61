/** The page of keys shows a client as soon as it has connected. */

import { byId } from "./pages/elements.js";
import { pollParts } from "./pages/live/parts.js";

if (document.getElementById("key-list")) pollParts(byId("key-list", HTMLElement));

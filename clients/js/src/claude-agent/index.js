/** A session store of the Claude Agent SDK: `StillhereSessionStore`. Needs Node. */
export { SpoolError } from "./spool.js";
export { StillhereSessionStore } from "./store.js";

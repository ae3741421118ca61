/** Reads that something caused, of which nothing else may tell: one that gets no answer is repeated. */

import { whenSeen } from "./event-stream.js";

const PAUSE_MS = 4000;

/** @param {() => unknown} act @returns {() => void} asks for `act`: it is done after a pause, once for however often it was asked */
export function later(act) {
  let isDue = false;
  const done = () => {
    isDue = false;
    act();
  };
  return () => {
    if (!isDue) setTimeout(done, PAUSE_MS * (0.5 + Math.random()));
    isDue = true;
  };
}

/**
 * Reads while the page is visible, and again if there was no answer, or one that may be another one later (`passing`).
 * @param {() => Promise<unknown>} read @returns {() => void} asks for `read`
 */
export function untilRead(read) {
  const again = later(() => look());
  const look = whenSeen(() => read().catch(({ passing }) => passing === false || again()));
  return look;
}

/** Divides work between tabs by Web Locks. If the browser lacks or blocks them (HTTP, no storage), every tab does it itself. */
import { nameOf } from "./util.js";

let denied = false;
const locks = () => (denied ? undefined : globalThis.navigator?.locks);

/** As if a browser blocks a site's storage. @param {unknown} error */
function isDenied(error) {
  if (nameOf(error) !== "SecurityError") return false;
  denied = true;
  return true;
}

/** @typedef {{held: Promise<void>, release: () => void}} Hold `held` resolves once the lock is ours */

/** Hold a lock until `release()` is called or the tab ends. @param {string} name @returns {Hold} */
export function hold(name) {
  const manager = locks();
  if (!manager) return { held: Promise.resolve(), release: () => {} };
  let release = () => {};
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    release = resolve;
  });
  const abort = new AbortController();
  /** @type {Promise<void>} */
  const held = new Promise((resolve) => {
    manager
      .request(name, { signal: abort.signal }, () => {
        resolve();
        return ended;
      })
      .catch((error) => {
        if (isDenied(error)) resolve();
      });
  });
  return {
    held,
    release: () => {
      release();
      abort.abort();
    },
  };
}

/**
 * Run `work` when it is our turn.
 * @template T @param {string} name @param {() => Promise<T>} work @param {AbortSignal} [signal] ends the waiting
 * @returns {Promise<T>}
 */
export async function inTurn(name, work, signal) {
  const manager = locks();
  if (!manager) return work();
  let begun = false;
  const run = () => {
    begun = true;
    return work();
  };
  try {
    return await manager.request(name, { signal }, run);
  } catch (error) {
    if (begun || !isDenied(error)) throw error;
    return work();
  }
}

export const supported = () => Boolean(locks());

/** Which tab does what: Web Locks where the browser has them (HTTPS or localhost), otherwise every tab does it itself. */

const locks = () => globalThis.navigator?.locks;

/** Hold a lock until `release()` is called or the tab ends. `held` resolves once it is ours. */
export function hold(name) {
  if (!locks()) return { held: Promise.resolve(), release: () => {} };
  let release = () => {};
  const ended = new Promise((resolve) => {
    release = resolve;
  });
  const abort = new AbortController();
  const held = new Promise((resolve) => {
    locks()
      .request(name, { signal: abort.signal }, () => {
        resolve();
        return ended;
      })
      .catch(() => {});
  });
  return {
    held,
    release: () => {
      release();
      abort.abort();
    },
  };
}

/** Run `work` when it is our turn. */
export async function inTurn(name, work, signal) {
  return locks() ? locks().request(name, { signal }, work) : work();
}

export const supported = () => Boolean(locks());

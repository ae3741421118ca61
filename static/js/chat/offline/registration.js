/**
 * The service worker of these pages. Where there is none (private mode, blocked storage, plain http, switched off) everything
 * else works: the chat keeps its messages itself, only a page cannot be opened without the server.
 */

/** Registers it, and lets it keep the page that it did not see yet. */
export async function register() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  try {
    const isControlled = serviceWorker.controller !== null;
    await serviceWorker.register("/service-worker.js", { scope: "/", updateViaCache: "none" });
    const { active } = await serviceWorker.ready;
    if (!isControlled) active?.postMessage({ type: "keep", url: location.href });
  } catch {
    // Not here.
  }
}

/** The address changed without a request: keep its page too. */
export function keepThisPage() {
  navigator.serviceWorker?.controller?.postMessage({ type: "keep", url: location.href });
}

/** Somebody else is signed in, or nobody. */
export function forgetPages() {
  navigator.serviceWorker?.controller?.postMessage({ type: "empty" });
}

/** Chats of the AI SDK that are kept: `useStillhereChat` for React, `persistTransport` and `loadMessages` for everything else. */
import { useChat } from "@ai-sdk/react";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { liveChat } from "./live-chat.js";

/** @import { Options } from "./index.js" */

export { loadMessages, persistTransport } from "./transport.js";

/** @param {Options} options */
export function useStillhereChat(options) {
  const live = liveChat(options);
  const { chat, stored, connection } = live;
  const helpers = useChat({ chat, throttle: options.throttle });
  const { messages, status } = helpers;
  const subscribe = useCallback((/** @type {() => void} */ listener) => live.subscribe(listener), [live]);
  const version = () => live.version;
  useSyncExternalStore(subscribe, version, version);
  useEffect(() => live.use(), [live]);
  useEffect(() => {
    live.options = options;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the page's list or status is looked at.
  useEffect(() => live.settle(), [live, messages, status]);
  return {
    ...helpers,
    ...callsOf(live),
    loaded: stored.loaded,
    storeError: stored.error,
    connection,
    unread: connection?.unread ?? 0,
  };
}

/** @type {WeakMap<ReturnType<typeof liveChat>, ReturnType<typeof madeCalls>>} */
const calls = new WeakMap();

/** The same functions in each render. @param {ReturnType<typeof liveChat>} live */
function callsOf(live) {
  const known = calls.get(live) ?? madeCalls(live);
  calls.set(live, known);
  return known;
}

/** @param {ReturnType<typeof liveChat>} live */
function madeCalls({ chat, stored }) {
  return {
    /** @param {Parameters<typeof chat.sendMessage>} given */
    sendMessage: (...given) => stored.load().then(() => chat.sendMessage(...given)),
    /** @param {Parameters<typeof chat.regenerate>} given */
    regenerate: (...given) => stored.load().then(() => chat.regenerate(...given)),
    /** @param {number} [limit] */
    loadOlder: (limit) => stored.older(limit),
    /** @param {string} id */
    versionsOf: (id) => stored.versionsOf(id),
    /** @param {string} id */
    showVersion: (id) => stored.show(id),
  };
}

/** The page of the tests: any number of chats with the real `useChat`. `show([options, …])` mounts them; `chats` has what each returned. */
import { lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { createElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadMessages, useStillhereChat } from "stillhere/ai-sdk";

const root = createRoot(document.querySelector("main"));
window.chats = {};
window.loadMessages = loadMessages;
window.errors = [];
window.addEventListener("error", ({ message }) => window.errors.push(message));
window.addEventListener("unhandledrejection", ({ reason }) => window.errors.push(String(reason)));

function Chat({ options }) {
  const chat = useStillhereChat({
    ...options,
    sendAutomaticallyWhen: options.automatic ? lastAssistantMessageIsCompleteWithToolCalls : undefined,
    onError: () => {},
  });
  window.chats[options.name ?? options.id] = chat;
  return createElement(
    "ol",
    null,
    chat.messages.map((message) =>
      createElement(
        "li",
        { key: message.id },
        message.parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" "),
      ),
    ),
  );
}

window.show = (list, { strict = true } = {}) => {
  const chats = list.map((options) => createElement(Chat, { key: options.key ?? `${options.project} ${options.id}`, options }));
  root.render(strict ? createElement(StrictMode, null, ...chats) : chats);
};
window.ready = true;

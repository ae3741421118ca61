import { DefaultChatTransport } from "ai";
import { createRoot } from "react-dom/client";
import { useStillhereChat } from "stillhere/ai-sdk";

const transport = new DefaultChatTransport({ api: "/api/chat" });

/** @param {{id: string}} props */
function Chat({ id }) {
  const { messages, sendMessage, status, storeError } = useStillhereChat({ ...STORE, id, transport });
  return (
    <form action={(form) => sendMessage({ text: String(form.get("text")) })}>
      {storeError && <p role="alert">{storeError.message}</p>}
      {messages.map((message) => (
        <p key={message.id}>
          <b>{message.role}</b> {message.parts.map((part) => (part.type === "text" ? part.text : ""))}
        </p>
      ))}
      <input name="text" aria-label="Message" disabled={status !== "ready"} />
    </form>
  );
}

createRoot(/** @type {HTMLElement} */ (document.querySelector("main"))).render(<Chat id="example" />);

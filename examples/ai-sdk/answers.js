/** A backend in place of a model: it streams an answer in the AI SDK's protocol. */
import { createUIMessageStream, pipeUIMessageStreamToResponse } from "ai";

const WORD_MS = 50;
const pause = (/** @type {number} */ ms) => new Promise((resolve) => void setTimeout(resolve, ms));

/** @param {import("ai").UIMessage[]} messages */
function answerTo(messages) {
  const said = messages
    .filter(({ role }) => role === "user")
    .map(({ parts }) => parts.map((part) => part.type === "text" && part.text));
  return `That was line ${said.length}. The first one was: ${said[0]}`;
}

/** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
export async function answer(request, response) {
  let body = "";
  for await (const piece of request) body += piece;
  const stream = createUIMessageStream({
    async execute({ writer }) {
      writer.write({ type: "text-start", id: "1" });
      for (const word of answerTo(JSON.parse(body).messages).split(/(?= )/)) {
        writer.write({ type: "text-delta", id: "1", delta: word });
        await pause(WORD_MS);
      }
      writer.write({ type: "text-end", id: "1" });
    },
  });
  pipeUIMessageStreamToResponse({ response, stream });
}

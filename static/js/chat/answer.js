/** The answer as it streams: server-sent events in the AI SDK's form, of which a plain chat needs the text only. */

const ATTEMPTS = 4;

/** @returns {AsyncGenerator<string>} pieces of text */
export async function* streamAnswer({ messages, openingStep, csrf, signal }) {
  const response = await ask({ messages, opening_step: openingStep }, csrf, signal);
  let rest = "";
  for await (const chunk of readable(response.body)) {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const content = event.replace(/^data: /, "");
      if (content === "[DONE]") return;
      const { type, delta, errorText } = JSON.parse(content);
      if (type === "error") throw new Error(errorText);
      if (type === "text-delta") yield delta;
    }
  }
  throw new Error("The answer was cut off.");
}

/** Busy now is no refusal: it is asked again. */
async function ask(body, csrf, signal) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf };
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch("/chat/answer", { method: "POST", headers, body: JSON.stringify(body), signal });
    if (response.ok) return response;
    if (response.status !== 503 || attempt === ATTEMPTS) throw new Error(await reason(response));
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

async function reason(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

async function* readable(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

/** Reads a streaming answer: server-sent events in the AI SDK's format, of which this chat uses only the text. */

/**
 * @typedef {{role: string, text: string}} Turn
 * @typedef {{messages: Turn[], openingStep: string, csrf: string, signal: AbortSignal}} Question
 */

const ATTEMPTS = 4;

/** `status` 0: the connection broke. */
export class AnswerFailed extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * One tab at a time requests the answer to a message. False if another tab does.
 * @template T @param {string} message its id @param {() => T} work @returns {Promise<T | false>}
 */
export async function alone(message, work) {
  if (!navigator.locks) return work();
  return navigator.locks.request(`stillhere:answer:${message}`, { ifAvailable: true }, (lock) => (lock ? work() : false));
}

/** @param {Question} question @returns {AsyncGenerator<string>} pieces of text */
export async function* streamAnswer({ messages, openingStep, csrf, signal }) {
  const response = await ask({ messages, opening_step: openingStep }, csrf, signal);
  let rest = "";
  for await (const chunk of readable(response.body)) {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const content = event.replace(/^data: /, "");
      if (content === "[DONE]") return;
      const { type, delta, errorText } = JSON.parse(content);
      if (type === "error") throw new AnswerFailed(502, errorText);
      if (type === "text-delta") yield delta;
    }
  }
  throw new AnswerFailed(0, "The answer was cut off.");
}

/** A busy server is not a refusal: the request is retried. @param {object} body @param {string} csrf @param {AbortSignal} signal */
async function ask(body, csrf, signal) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf };
  for (let attempt = 1; ; attempt += 1) {
    const sent = fetch("/chat/answer", { method: "POST", headers, body: JSON.stringify(body), signal });
    const response = await sent.catch(broken);
    if (response.ok) return response;
    if (response.status !== 503 || attempt === ATTEMPTS) throw new AnswerFailed(response.status, await reason(response));
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** @param {unknown} error @returns {never} */
function broken(error) {
  if (error instanceof DOMException && error.name === "AbortError") throw error;
  throw new AnswerFailed(0, "The server does not answer.");
}

/** @param {Response} response @returns {Promise<string>} */
async function reason(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

/** @param {Response["body"]} stream */
async function* readable(stream) {
  if (!stream) return;
  const reader = stream.pipeThrough(/** @type {TransformStream<BufferSource, string>} */ (new TextDecoderStream())).getReader();
  const next = () => reader.read().catch(broken);
  for (let part = await next(); !part.done; part = await next()) yield part.value;
}

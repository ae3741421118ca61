/** Reads a stream of an answer: server-sent events, from a chunk's number on. */
import { ApiError } from "../server/http.js";

/**
 * @import { Http } from "../server/http.js"
 *
 * @typedef {{number: number, data: unknown}} Chunk
 * @typedef {{chunks: Chunk[], end: string | null}} Read `end`: the state in which the stream ended
 */

// The server sends something every 15 seconds.
const SILENCE_MS = 40_000;

/**
 * Yields what arrives. A connection that breaks before the end rejects with an `ApiError` of status 0.
 * @param {Pick<Http, "open">} http @param {string} stream @param {number} offset number of the first chunk @param {AbortSignal} signal
 * @returns {AsyncGenerator<Read>}
 */
export async function* readStream(http, stream, offset, signal) {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENCE_MS);
  try {
    const ended = AbortSignal.any([signal, silent.signal]);
    const response = await http.open(`/streams/${stream}?offset=${offset}`, ended);
    let rest = "";
    for await (const text of texts(response)) {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE_MS);
      const events = (rest + text).split("\n\n");
      rest = events.pop() ?? "";
      const read = taken(events);
      yield read;
      if (read.end !== null) return;
    }
    throw broken();
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

const broken = () => new ApiError(0, { code: "unreachable", message: "The stream of the answer was cut off." });

/** @param {Response} response @returns {AsyncGenerator<string>} */
async function* texts({ body }) {
  if (!body) return;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch {
    throw broken();
  }
}

/** @param {string[]} events @returns {Read} */
function taken(events) {
  /** @type {Chunk[]} */
  const chunks = [];
  let end = null;
  for (const event of events) {
    const fields = new Map(event.split("\n").map((line) => /** @type {[string, string]} */ (line.split(/: (.*)/s))));
    const data = fields.get("data");
    if (data === undefined) continue;
    if (fields.get("event") === "end") end = String(JSON.parse(data).state);
    else chunks.push({ number: Number(fields.get("id")), data: JSON.parse(data) });
  }
  return { chunks, end };
}

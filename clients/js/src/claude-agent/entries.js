/** What an entry of a transcript says, for pages and search. The entry itself is kept as it is. */

/** @typedef {{type: string, uuid?: string, [name: string]: any}} Entry */
/** @typedef {{id: string, role: string, text: string, format: string, raw: unknown, parts?: object[]}} Shown */

export const FORMAT = "claude-code";
// Entries that are no messages: what of them is shown.
const TEXTS = ["content", "summary", "customTitle", "aiTitle", "lastPrompt", "tag"];

/** @param {string} id @param {Entry} entry @returns {Shown} */
export function asMessage(id, entry) {
  const made = { id, format: FORMAT, raw: entry };
  const { type, message } = entry;
  if ((type !== "user" && type !== "assistant") || typeof message !== "object" || message === null) {
    const text = TEXTS.map((name) => entry[name]).find((value) => typeof value === "string") ?? "";
    return { ...made, role: "system", text: text ? `${type}: ${text}` : String(type) };
  }
  const blocks = Array.isArray(message.content) ? message.content : [{ type: "text", text: message.content }];
  const parts = blocks.flatMap(partOf);
  const kinds = new Set(parts.map((/** @type {any} */ part) => part.type));
  const text = parts.map((/** @type {any} */ part) => (part.type === "text" ? part.text : "")).join("");
  // What the program says as the user, such as a command's output, is a note.
  if ([...kinds].every((kind) => kind === "text")) return { ...made, role: entry.isMeta === true ? "system" : type, text };
  const onlyResults = kinds.size === 1 && kinds.has("tool_result");
  return { ...made, role: onlyResults ? "tool" : type, text, parts };
}

/** @param {any} block @returns {object[]} */
function partOf(block) {
  switch (block?.type) {
    case "text":
      return typeof block.text === "string" ? [{ type: "text", text: block.text }] : [];
    case "thinking":
      return [{ type: "reasoning", text: String(block.thinking ?? "") }];
    case "tool_use":
      return [{ type: "tool_call", id: String(block.id), name: String(block.name), input: block.input }];
    case "tool_result":
      return [
        { type: "tool_result", id: String(block.tool_use_id), output: block.content ?? null, is_error: block.is_error === true },
      ];
    case "image": // Its content is in the entry already.
      return [{ type: "file", media_type: String(block.source?.media_type ?? "image/*"), name: "image" }];
  }
  return [];
}

/** Parts of a message that are not text: files as the chat creates and reads them, and a label for each until they are rendered. */

/**
 * @import { Message, Siblings, Status } from "../../stillhere.js"
 *
 * @typedef {Message & {text: string, status: Status, siblings?: Siblings, created_at?: string, position?: number}} PageMessage
 * @typedef {{type?: string, text?: string, filename?: string, mediaType?: string, title?: string, url?: string, toolName?: string, file?: string,
 *   state?: string}} Part
 */

const TITLE_LENGTH = 80;
const TEXT_FILE = "data:text/plain;charset=utf-8,";
// Characters that a data URL must escape. The rest stays readable, for search and for redaction.
const SPECIAL = /[%#\n\r\t]|^[\0- ]+|[\0- ]+$/g;

/** A long text as a file of its own. @param {string} text @param {string} filename */
export function textFile(text, filename) {
  return { type: "file", mediaType: "text/plain", filename, url: TEXT_FILE + text.replace(SPECIAL, encodeURIComponent) };
}

/** The text of a file that this chat made; null for any other part. @param {Part} part */
export function textOfFile(part) {
  if (part.type !== "file" || !part.url?.startsWith?.(TEXT_FILE)) return null;
  try {
    return decodeURIComponent(part.url.slice(TEXT_FILE.length).replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    return null;
  }
}

/** @param {Pick<Message, "parts">} message @returns {Part[]} */
export const textFiles = (message) => (message.parts ?? []).filter((/** @type {Part} */ part) => textOfFile(part) !== null);

/** The text of a message with the texts of its files, and the names of the others. @param {PageMessage} message */
function wholeText(message) {
  const files = textFiles(message).map((part) => `${part.filename ?? "file"}:\n\n${textOfFile(part)}`);
  const attached = (message.parts ?? []).filter((/** @type {Part} */ { type, file }) => type === "file" && file);
  const names = attached.map((/** @type {Part} */ { filename }) => `(Attached file: ${filename ?? "without a name"})`);
  return [message.text, ...files, ...names].filter(Boolean).join("\n\n");
}

/** The beginning of a session's first message with text; "" if there is none. @param {PageMessage[]} messages */
export function titleOf(messages) {
  const first = messages.find(({ role }) => role === "user");
  return first ? [...wholeText(first).trim().split("\n")[0]].slice(0, TITLE_LENGTH).join("") : "";
}

/** Labels for a message without text, so that no saved message is shown empty. @param {Pick<Message, "parts">} message */
export function describe(message) {
  return (message.parts ?? []).map(labelOf).filter(Boolean).join("\n\n");
}

/** @param {Part} part */
function labelOf(part) {
  const kind = String(part.type ?? "part");
  if (kind === "text" || kind === "step-start") return "";
  if (kind === "reasoning") return "Reasoning";
  const isTool = kind.startsWith("tool-") || kind === "dynamic-tool";
  if (isTool) return `Tool: ${part.toolName ?? kind.slice(5)} ${part.state ?? ""}`.trim();
  return `${kind}: ${part.filename ?? part.title ?? part.url ?? ""}`;
}

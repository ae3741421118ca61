/** The content of a message as callers pass it and as it is sent. */
import { kindOf } from "../util.js";

/**
 * @import { Message } from "../../stillhere.js"
 *
 * @typedef {Partial<Message> & {text: string}} Content
 * @typedef {{type?: string, text?: string}} Part
 */

/** @type {(keyof Content)[]} */
const FIELDS = ["role", "text", "parts", "metadata", "format", "raw", "parent_id"];
export const STATUSES = new Set(["streaming", "complete", "interrupted"]);

/** Why this is not a list of messages; null if it is one. @param {unknown} list */
function fault(list) {
  if (!Array.isArray(list)) return `This was ${kindOf(list)}.`;
  for (const [at, message] of list.entries()) {
    if (message === null || typeof message !== "object") return `Number ${at} is ${kindOf(message)}.`;
    if (typeof message.id !== "string" || message.id === "") return `Number ${at} has no id, or its id is not a string.`;
    const odd = oddContent(message);
    if (odd) return `Number ${at} has ${odd}.`;
  }
  return null;
}

/** What in it would be lost, because it is no text; null: nothing. @param {Partial<Message>} message */
function oddContent({ text, content, parts, raw }) {
  if (text != null && typeof text !== "string") return `a text that is ${kindOf(text)}`;
  if (parts != null && !Array.isArray(parts)) return "parts that are not a list";
  const counts = text == null && parts == null && raw === undefined;
  if (counts && content != null && typeof content !== "string") return `content that is ${kindOf(content)}`;
  for (const part of /** @type {unknown[]} */ (parts ?? [])) {
    if (part === null || typeof part !== "object") return `a part that is ${kindOf(part)}`;
    const { type, text: said } = /** @type {{type?: unknown, text?: unknown}} */ (part);
    if (type === "text" && said != null && typeof said !== "string") return `a part whose text is ${kindOf(said)}`;
  }
  return null;
}

/** The list, if it is one of messages. @param {readonly Message[]} list */
export function checked(list) {
  const wrong = fault(list);
  if (wrong) throw new TypeError(`save() takes the whole list of messages, [{ id, role, text }, …]. ${wrong}`);
  return list;
}

/** The text, if it is one. @param {string} text @param {string} call what took it */
export function checkedText(text, call) {
  if (typeof text !== "string") throw new TypeError(`${call}() takes a text. This was ${kindOf(text)}.`);
  return text;
}

/** @param {Partial<Message>} message */
export function textOf(message) {
  if (typeof message.text === "string") return message.text;
  if (!message.parts && typeof message.content === "string") return message.content;
  return (message.parts ?? []).map(textOfPart).join("");
}

/** @param {Part | null} part */
const textOfPart = (part) => (part?.type === "text" ? (part.text ?? "") : "");

/** The content of a message as it is sent; the default form of `parts` is left out. @param {Partial<Message>} message */
export function contentOf(message) {
  const text = textOf(message);
  const said = FIELDS.filter((field) => message[field] !== undefined && !(field === "parts" && isDefault(message.parts, text)));
  return /** @type {Content} */ ({ ...Object.fromEntries(said.map((field) => [field, message[field]])), text });
}

/** @param {Part[] | undefined} parts @param {string} text */
function isDefault(parts, text) {
  const [only, ...more] = parts ?? [];
  return more.length === 0 && (!only || (only.type === "text" && only.text === text && Object.keys(only).length === 2));
}

/** @param {Content} content */
export const printOf = (content) => JSON.stringify(FIELDS.map((field) => content[field] ?? null));

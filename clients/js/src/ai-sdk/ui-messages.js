/** Stored messages as UIMessages of the AI SDK, and back. */

/**
 * @import { UIMessage } from "ai"
 * @import { Message, StoredMessage } from "#browser"
 */

const FORMAT = "ai-sdk";
const LONGEST_TEXT = 100_000;
const OWN_PART =
  /^(?:text|reasoning|reasoning-file|file|source-url|source-document|custom|steering-message|step-start|dynamic-tool|tool-.+|data-.+)$/;
/** Roles of other formats. Their results of tools are shown nowhere: the AI SDK has them in the answer. @type {Record<string, UIMessage["role"]>} */
const ROLES = {
  ...{ system: "system", user: "user", assistant: "assistant" },
  ...{ developer: "system", human: "user", request: "user", ai: "assistant", model: "assistant", response: "assistant" },
};

/** Written by another framework: it is shown, and never changed here. @param {{format?: string}} message */
export const isForeign = ({ format }) => Boolean(format) && format !== FORMAT;

/** Null: it is nothing to show. @param {StoredMessage | Message} message @returns {UIMessage | null} */
export function toUI({ id, role, text, parts, metadata, format, raw }) {
  if (format === FORMAT && raw) return { .../** @type {UIMessage} */ (raw), id };
  const shownRole = ROLES[role];
  if (!shownRole) return null;
  const own = /** @type {UIMessage["parts"]} */ ((parts ?? []).filter((part) => OWN_PART.test(/** @type {any} */ (part).type)));
  const shown = own.length > 0 ? own : [{ type: /** @type {const} */ ("text"), text: text ?? "" }];
  return { id, role: shownRole, ...(metadata === undefined ? {} : { metadata }), parts: shown };
}

/** @param {UIMessage} message @returns {Message} */
export function toStored({ id, role, parts, metadata }) {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const own = { id, role, parts, ...(metadata === undefined ? {} : { metadata }) };
  // Other roles need their format; a longer text is in `raw` only.
  if (role === "system" || text.length > LONGEST_TEXT) {
    return { id, role: /** @type {Message["role"]} */ (role), format: FORMAT, raw: own, text: text.slice(0, LONGEST_TEXT) };
  }
  return /** @type {Message} */ (own);
}

/** What is compared to find out whether a message changed. @param {UIMessage | null} message */
export const printOf = (message) => message && JSON.stringify([message.role, message.parts, message.metadata]);

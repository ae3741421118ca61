/** Who says a message, as on the session's page. */

/** @import { PageMessage } from "./message-parts.js" */

const [USER, ASSISTANT, SYSTEM, TOOL] = ["You", "Assistant", "Instructions", "Tool"];
/** By role, whatever the message's format calls it. @type {Record<string, string>} */
const SPEAKERS = {
  ...{ user: USER, human: USER, assistant: ASSISTANT, ai: ASSISTANT, model: ASSISTANT },
  ...{ system: SYSTEM, developer: SYSTEM, tool: TOOL, function: TOOL },
};

/** @param {Pick<PageMessage, "role" | "format">} message */
export function speakerOf({ role, format }) {
  const speaker = SPEAKERS[role] ?? role;
  // In transcripts of this format a program notes what is no message.
  return format === "claude-code" && speaker === SYSTEM ? "Note" : speaker;
}

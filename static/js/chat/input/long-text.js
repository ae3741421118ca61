/** Ways to send the whole of a text that is too long for one message. */
import { textFile } from "../messages/message-parts.js";
import { lengthOf, wordsOf } from "./text-length.js";

const LONGEST_FILE_BYTES = 990_000;

/**
 * @import { Draft } from "./message-field.js"
 * @typedef {{text: string, pasted: string, longest: number}} LongText `pasted`: the longest paste in it; `longest`: in characters
 */

/** @param {LongText} long @returns {{label: string, drafts: () => Draft[]}[]} */
export function ways({ text, pasted, longest }) {
  const pieces = split(text, longest);
  const several = { label: `Send as ${pieces.length} messages`, drafts: () => pieces.map((piece) => ({ text: piece })) };
  const file = asFile(text, pasted, longest);
  return file ? [several, { label: "Send as a text file", drafts: () => [file] }] : [several];
}

/** Splits the text into pieces that fit, at the end of a paragraph, a line or a word if possible; joined they give the same text. @param {string} text @param {number} longest */
function split(text, longest) {
  const pieces = [];
  let rest = text;
  while (lengthOf(rest) > longest) {
    const most = [...rest.slice(0, 2 * longest)].slice(0, longest).join("");
    const ends = ["\n\n", "\n", " "].map((end) => most.lastIndexOf(end) + end.length);
    const end = ends.find((one) => one > most.length / 2) ?? most.length;
    pieces.push(most.slice(0, end));
    rest = rest.slice(end);
  }
  return [...pieces, rest];
}

/** The paste becomes the file and the typed text the message; without a known paste all of it becomes the file. @param {string} text @param {string} pasted @param {number} longest */
function asFile(text, pasted, longest) {
  const at = pasted ? text.indexOf(pasted.trimEnd()) : -1;
  const around = at < 0 ? "" : wordsOf(text.slice(0, at) + text.slice(at + pasted.length));
  const whole = at < 0 || lengthOf(around) > longest;
  const file = textFile(whole ? text : pasted, "pasted-text.txt");
  if (new TextEncoder().encode(JSON.stringify(file)).length > LONGEST_FILE_BYTES) return null;
  const caption = whole ? "" : around;
  return { text: caption, parts: [...(caption ? [{ type: "text", text: caption }] : []), file] };
}

/**
 * A message that still grows, in pieces: those that are complete are shown as the server renders them, the last one lightly. A text
 * is split only where Markdown means the same on both sides, so a piece that is complete is rendered once.
 */

import { describe } from "./message-parts.js";
import { show as showText } from "./streaming-markup.js";

/**
 * @import { PageMessage, Part } from "./message-parts.js"
 *
 * @typedef {{source: string, message: {text: string, parts: Part[]}}} Piece
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
// What may belong to the block before it, although a blank line is between: lists, quotations, indented text, tables, footnotes.
const GOES_ON = /^(?:\s|[-*+>|]|\d{1,9}[.)]|\[)/;
/** What each piece shows. `asked`: the server is to render it; `rendered`: it did. */
/** @typedef {{source: string, asked: boolean, rendered: boolean}} Shown */
/** @type {WeakMap<Element, Shown>} */
const shown = new WeakMap();

/** Pieces of a text. @param {string} text @returns {string[]} */
export function split(text) {
  const pieces = [""];
  let fence = "";
  let blank = false;
  for (const line of text.split(/(?<=\n)/)) {
    const empty = !line.trim();
    if (!fence && blank && !empty && !GOES_ON.test(line) && pieces.at(-1)?.trim()) pieces.push("");
    pieces[pieces.length - 1] += line;
    const mark = FENCE.exec(line)?.[1];
    if (fence) fence = mark?.startsWith(fence) && line.trim() === mark ? "" : fence;
    else if (mark) fence = mark;
    blank = empty;
  }
  return pieces;
}

/** @param {PageMessage} message @returns {Piece[]} */
export function piecesOf({ text, parts }) {
  /** @type {Part[]} */
  const given = parts?.length ? parts : [{ type: "text", text }];
  const whole = given.some((part) => part.type === "text" && part.text) ? given : [...given, { type: "text", text }];
  return whole
    .flatMap((part) => (part.type === "text" ? split(part.text ?? "").map(textPiece) : [partPiece(part)]))
    .filter(({ source }) => source);
}

/** @param {string} text @returns {Piece} */
const textPiece = (text) => ({ source: text, message: { text, parts: [{ type: "text", text }] } });
/** @param {Part} part @returns {Piece} */
const partPiece = (part) => ({ source: JSON.stringify(part), message: { text: "", parts: [part] } });

/**
 * Make `box` show the message. Unchanged pieces are not touched, so that a selection is kept while it streams.
 * @param {Element} box @param {PageMessage} message @param {{ask: boolean}} options
 * @returns {(Piece & {at: number})[]} complete pieces that the server has to render
 */
export function show(box, message, { ask }) {
  const pieces = piecesOf(message);
  const bold = message.role !== "user";
  /** @type {(Piece & {at: number})[]} */
  const wanted = [];
  for (const [at, piece] of pieces.entries()) {
    const element = pieceAt(box, at);
    const state = shown.get(element)?.source === piece.source ? shown.get(element) : lightly(element, piece, bold);
    if (!ask || !state || state.asked || !(at < pieces.length - 1 || isCalled(piece))) continue;
    state.asked = true;
    wanted.push({ at, ...piece });
  }
  while (box.children.length > pieces.length) box.lastElementChild?.remove();
  return wanted;
}

/** A tool that was called may take long; the piece is complete before another one follows. @param {Piece} piece */
function isCalled({ message }) {
  const [{ type, state }] = message.parts;
  return type !== "text" && type !== "reasoning" && state !== "input-streaming";
}

/** @param {Element} element @param {Piece} piece @param {boolean} bold */
function lightly(element, piece, bold) {
  const state = { source: piece.source, asked: false, rendered: false };
  // What the server rendered of the same tool is better than a label, until it renders this.
  const label = !piece.message.text && shown.get(element)?.rendered;
  if (!label) {
    if (shown.get(element)?.rendered) element.replaceChildren();
    showText(element, piece.message.text || describe(piece.message), { bold });
  }
  state.rendered = Boolean(label);
  shown.set(element, state);
  return state;
}

/** @param {Element} box @param {number} at */
function pieceAt(box, at) {
  const standing = box.children[at];
  if (standing?.className === "piece") return standing;
  const made = document.createElement("div");
  made.className = "piece";
  if (standing) standing.replaceWith(made);
  else box.append(made);
  return made;
}

/** Show a piece as the server rendered it, if it is still the same. @param {Element} box @param {number} at @param {string} source @param {Element} words */
export function place(box, at, source, words) {
  const element = box.children[at];
  if (!element || shown.get(element)?.source !== source) return;
  keepFolds(element, words);
  element.replaceChildren(...words.childNodes);
  shown.set(element, { source, asked: true, rendered: true });
}

/** Open folds stay open. @param {Element} former @param {Element} fresh */
export function keepFolds(former, fresh) {
  const open = [...former.querySelectorAll("details")].map((fold) => fold.open);
  for (const [at, fold] of fresh.querySelectorAll("details").entries()) fold.open = open[at] ?? fold.open;
}

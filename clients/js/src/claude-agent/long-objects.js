/** Entries. One that a message cannot hold is stored as JSON in pieces, and whole again when it is read. */

/** @import { Shown } from "./entries.js" */

// The server takes 1,000,000 bytes of `raw` and `parts` in a message, and 100,000 characters of text.
const MOST_BYTES = 900_000;
const MOST_CHARACTERS = 100_000;
// The server takes 64 levels of lists and objects, of which a request adds three.
const MOST_LEVELS = 60;
// Written in another JSON text, a character may take two bytes.
const PIECE_CHARACTERS = 440_000;
const PIECE = ".piece";
const LONE_SURROGATE = /\p{Surrogate}/u;

/** JSON in ASCII, as it can be cut anywhere. @param {unknown} value */
export const asciiJson = (value) =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** @param {unknown} value */
const sizeOf = (value) => (value === undefined ? 0 : new TextEncoder().encode(JSON.stringify(value)).length);

/** The operations that store a message. Its parts are left out if there is no room for them. @param {Shown} message @returns {object[]} */
export function upsertsOf(message) {
  const { parts, ...plain } = { ...message, text: [...message.text.slice(0, MOST_CHARACTERS)].join("") };
  const size = sizeOf(message.raw);
  if (size <= MOST_BYTES && !isDeeper(message.raw, MOST_LEVELS) && !hasLoneSurrogates(message.raw)) {
    return [{ op: "upsert", ...plain, ...(parts && size + sizeOf(parts) <= MOST_BYTES ? { parts } : {}) }];
  }
  const json = asciiJson(message.raw);
  const count = Math.ceil(json.length / PIECE_CHARACTERS);
  return Array.from({ length: count }, (_, number) => {
    const piece = json.slice(number * PIECE_CHARACTERS, (number + 1) * PIECE_CHARACTERS);
    const raw = { id: message.id, piece: number, of: count, json: piece };
    const own = number === 0 ? {} : { id: `${message.id}.${number}`, text: "" };
    return { op: "upsert", ...plain, format: ofPieces(message.format), raw, ...own };
  });
}

/** The operations of each entry: the pieces of one follow each other. @param {object[]} ops @returns {object[][]} */
export function entriesOf(ops) {
  /** @type {object[][]} */
  const entries = [];
  for (const op of /** @type {any[]} */ (ops)) {
    if (entries.length > 0 && op.format?.endsWith(PIECE) && op.raw.piece > 0) entries[entries.length - 1].push(op);
    else entries.push([op]);
  }
  return entries;
}

/**
 * The objects of a format in their order. Messages of others are passed over, and so is an object that lacks a piece, and a piece
 * that a longer one left before it was replaced.
 * @param {any[]} messages @param {string} format @returns {any[]}
 */
export function objectsIn(messages, format) {
  /** @type {Map<string, {of: number, json: string[]}>} */
  const begun = new Map();
  return messages.flatMap(({ format: own, raw }) => {
    if (own === format) return [raw];
    if (own !== ofPieces(format)) return [];
    if (raw.piece === 0) begun.set(raw.id, { of: raw.of, json: [] });
    const pieces = begun.get(raw.id);
    if (!pieces || pieces.of !== raw.of) return [];
    pieces.json.push(raw.json);
    return pieces.json.length === pieces.of ? [JSON.parse(pieces.json.join(""))] : [];
  });
}

/** Halves of characters, as texts have that were cut. No JSON in UTF-8 can have them. @param {any} value @returns {boolean} */
function hasLoneSurrogates(value) {
  if (typeof value === "string") return LONE_SURROGATE.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, inner]) => LONE_SURROGATE.test(name) || hasLoneSurrogates(inner));
}

/** @param {any} value @param {number} levels @returns {boolean} */
function isDeeper(value, levels) {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** @param {string} format */
const ofPieces = (format) => `${format}${PIECE}`;

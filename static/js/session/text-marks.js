/** Marks a text in messages, also across the borders of elements. */

const MOST = 200;

/** @typedef {{node: Text, from: number}} Piece */

/** @param {Node} root */
function piecesOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  /** @type {Piece[]} */
  const pieces = [];
  for (let from = 0; walker.nextNode(); ) {
    const node = /** @type {Text} */ (walker.currentNode);
    pieces.push({ node, from });
    from += node.data.length;
  }
  return pieces;
}

/**
 * From the end, so that splitting a node does not move the remaining matches.
 * @param {Piece[]} pieces @param {number} start @param {number} end
 */
function mark(pieces, start, end) {
  for (const { node, from } of pieces.toReversed()) {
    const first = Math.max(start - from, 0);
    const last = Math.min(end - from, node.data.length);
    if (first >= last) continue;
    node.splitText(last);
    const hit = document.createElement("mark");
    const part = node.splitText(first);
    part.replaceWith(hit);
    hit.append(part);
  }
}

/** @param {string} words */
const patternOf = (words) =>
  words
    .split(/\s+/)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
    .join("\\s+");

/** However their letters are composed, as the server finds them. @param {Node} root @param {string} words */
export function markAll(root, words) {
  const pieces = piecesOf(root);
  const text = pieces.map(({ node }) => node.data).join("");
  const spellings = [words, words.normalize("NFC"), words.normalize("NFD")].map(patternOf);
  const found = [...text.matchAll(new RegExp(spellings.join("|"), "giu"))].slice(0, MOST);
  for (const { index, 0: hit } of found.reverse()) mark(pieces, index, index + hit.length);
}

/** @param {Element} root */
export function unmark(root) {
  for (const hit of root.querySelectorAll("mark")) {
    const parent = hit.parentNode;
    hit.replaceWith(...hit.childNodes);
    parent?.normalize();
  }
}

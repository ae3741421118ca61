/** The text that is sent, and its length. */

/** Removes blank lines at the beginning and white space at the end: an indented first line stays indented. @param {string} text */
export const wordsOf = (text) => text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();

/** In characters as the server counts them. @param {string} text */
export function lengthOf(text) {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

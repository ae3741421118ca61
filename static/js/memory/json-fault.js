/**
 * Where a text stops being JSON. Each browser words its parse error differently: Safari names no position, Firefox a line and a
 * column, Chromium sometimes a position.
 */

const SPACE = /[ \t\r\n]*/y;
const TEXT = /"(?:[ !#-[\]-\u{10ffff}]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/uy;
const QUOTE = /"/y;
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    /** How far it is read. */
    this.at = 0;
    this.take(SPACE);
  }

  get next() {
    return this.text[this.at];
  }

  /** @param {RegExp} pattern @returns whether it was there */
  take(pattern) {
    pattern.lastIndex = this.at;
    const isThere = pattern.test(this.text);
    if (isThere) this.at = pattern.lastIndex;
    return isThere;
  }

  /** A character, and the space after it. @param {string | undefined} character */
  sign(character) {
    if (character === undefined || this.next !== character) return false;
    this.at += 1;
    return this.take(SPACE);
  }

  words() {
    return this.take(TEXT) && this.take(QUOTE) && this.take(SPACE);
  }

  key() {
    return this.words() && this.sign(":");
  }

  /** A text, number or name, and the space after it. */
  plain() {
    return this.next === '"' ? this.words() : this.take(PLAIN) && this.take(SPACE);
  }
}

/** The first character that no JSON has there; null: it is JSON. @param {string} text */
export function faultAt(text) {
  const reader = new Reader(text);
  /** How the open objects and lists end. @type {string[]} */
  const ends = [];
  for (;;) {
    const end = reader.sign("{") ? "}" : reader.sign("[") ? "]" : "";
    if (end && !reader.sign(end)) {
      ends.push(end);
      if (end === "}" && !reader.key()) return reader.at;
      continue;
    }
    if (!end && !reader.plain()) return reader.at;
    while (reader.sign(ends.at(-1))) ends.pop();
    if (ends.length === 0) return reader.at < text.length ? reader.at : null;
    if (!reader.sign(",") || (ends.at(-1) === "}" && !reader.key())) return reader.at;
  }
}

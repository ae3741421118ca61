/**
 * The messages. The server renders finished ones, and the complete pieces of growing ones (`growing.js`). The text that somebody reads
 * stays in place on the screen, whatever grows or is inserted above it.
 */

import { copyWords } from "../../pages/clipboard.js";
import { count } from "../../pages/counts.js";
import { addCodeButtons } from "../../pages/message/code-blocks.js";
import "../../pages/message/pictures.js";
import { one } from "../../pages/elements.js";
import { addTextButtons, keepShown, showLong } from "../../pages/message/long-texts.js";
import { keepFolds, place as placePiece, show as showPieces } from "./growing.js";
import { MessageButtons } from "./message-buttons.js";
import { textFiles, textOfFile } from "./message-parts.js";
import { looksPlain, printOf, ServerRendering } from "./server-rendering.js";
import { speakerOf } from "./speakers.js";
import { SteadyScroll } from "./steady-scroll.js";
import { withResults } from "./tool-results.js";

/**
 * @import { MessageActs } from "./message-buttons.js"
 * @import { PageMessage, Part } from "./message-parts.js"
 *
 * @typedef {object} Shown a message as it is shown
 * @property {HTMLElement} article
 * @property {HTMLElement} words
 * @property {HTMLElement} note
 * @property {MessageButtons} buttons
 * @property {PageMessage} message
 * @property {string} print the content that is shown; "" while there is none
 * @property {boolean} lightly rendered in the browser, not by the server
 * @property {boolean} near the view
 * @property {boolean} watched it grew here: all of it stays shown
 */

/** @type {Partial<Record<PageMessage["status"], string>>} */
const NOTES = { streaming: "still coming in", interrupted: "incomplete" };
const UNSAVED = "not saved yet";
const NEAR_VIEW = "800px";

export class Transcript {
  /** @param {HTMLElement} log @param {() => string} csrf */
  constructor(log, csrf) {
    this.log = log;
    this.head = one(log, ".older", HTMLElement);
    this.count = one(this.head, "span", HTMLElement);
    /** @type {Map<string, Shown>} */
    this.entries = new Map();
    this.reading = false;
    /** Rendered, but not inserted yet. @type {Map<Shown, {print: string, words: Element}>} */
    this.waiting = new Map();
    /** Pieces of growing messages that the server renders, by the id under which they are asked for. */
    /** @type {Map<string, {of: string, at: number, source: string}>} */
    this.pieces = new Map();
    /** The server has not confirmed them for a while. @type {Set<string>} */
    this.unsaved = new Set();
    /** @type {(messages: PageMessage[]) => void} */
    this.shown = () => {};
    /** @type {() => Promise<unknown>} */
    this.older = async () => {};
    /** @type {MessageActs} */
    this.acts = { edit: () => {}, regenerate: () => {}, version: () => {} };
    this.rendering = new ServerRendering(csrf, (message, article) => this._rendered(message, article));
    this.near = new IntersectionObserver((seen) => this._seen(seen), { root: log, rootMargin: NEAR_VIEW });
    this.scroll = new SteadyScroll(log);
    log.addEventListener("click", ({ target }) => target instanceof Element && this._clicked(target));
    for (const type of ["selectionchange", "focusout"]) document.addEventListener(type, () => this._placeWaiting());
  }

  /** @param {() => Promise<unknown>} older reads what is before the first message */
  onOlder(older) {
    this.older = older;
    one(this.head, "button", HTMLElement).addEventListener("click", () => this._older());
    this.near.observe(this.head);
  }

  /** @param {PageMessage[]} messages @param {number} total how many there are, loaded or not */
  show(messages, total) {
    if (messages.length === 0) this.scroll.following = true;
    this.scroll.keep(() => {
      this.head.hidden = total <= messages.length;
      this.count.textContent = `${count(messages.length)} of ${count(total)} messages`;
      this._place(withResults(messages));
    });
    this.shown(messages);
  }

  /** @param {Set<string>} ids of messages that the server has not confirmed for a while */
  noteUnsaved(ids) {
    const changed = [...ids].filter((id) => !this.unsaved.has(id)).concat([...this.unsaved].filter((id) => !ids.has(id)));
    this.unsaved = ids;
    for (const id of changed) this._note(this.entries.get(id));
  }

  /** @param {Shown | undefined} entry */
  _note(entry) {
    if (!entry) return;
    const { id, status } = entry.message;
    entry.note.textContent = NOTES[status] ?? (this.unsaved.has(id) ? UNSAVED : "");
  }

  toEnd() {
    this.scroll.toTheEnd();
  }

  /** Retries what could not be read or rendered while the server was unreachable. */
  readAgain() {
    this.rendering.again();
    this._lookAgain();
  }

  /** Only changed elements are touched, so that a selection is kept while a message streams. */
  /** @param {PageMessage[]} messages */
  _place(messages) {
    const present = new Set(messages.map(({ id }) => id));
    for (const [id, { article }] of this.entries) {
      if (present.has(id)) continue;
      this.near.unobserve(article);
      article.remove();
      this.entries.delete(id);
    }
    let at = this.head.nextSibling;
    for (const message of messages) {
      const known = this.entries.get(message.id);
      const entry = known ?? this._made(message);
      if (!known || entry.message !== message) this._fill(entry, message, known?.message.status);
      if (entry.article === at) at = at.nextSibling;
      else this.log.insertBefore(entry.article, at);
    }
  }

  /** @param {Shown} entry @param {PageMessage} message @param {string | undefined} former its status as it was shown */
  _fill(entry, message, former) {
    entry.message = message;
    entry.watched ||= message.status === "streaming";
    this._note(entry);
    entry.buttons.show(message);
    const print = printOf(message);
    if (entry.print === print && former === message.status) return;
    if (entry.print !== print || entry.lightly) {
      entry.lightly = true;
      this._showLightly(entry);
    }
    entry.print = print;
    this._render(entry);
  }

  /** @param {Shown} entry */
  _showLightly({ words, message, near }) {
    const complete = showPieces(words, message, { ask: near && message.status === "streaming" });
    for (const { at, source, message: own } of complete) {
      const id = `${message.id}\0${at}`;
      this.pieces.set(id, { of: message.id, at, source });
      this.rendering.want({ ...message, ...own, id });
    }
  }

  /** @param {Shown} entry */
  _render({ near, lightly, message }) {
    if (near && lightly && message.status !== "streaming" && !looksPlain(message)) this.rendering.want(message);
  }

  /** @param {PageMessage} message @param {DocumentFragment} content */
  _rendered(message, content) {
    const piece = this.pieces.get(message.id);
    const entry = this.entries.get(piece?.of ?? message.id);
    const words = content.querySelector(".words");
    this.pieces.delete(message.id);
    if (!entry || !words) return;
    prepare(content);
    if (piece) {
      if (entry.lightly && !busy(entry.words.children[piece.at])) {
        this.scroll.keep(() => placePiece(entry.words, piece.at, piece.source, words));
      }
      return;
    }
    if (entry.print !== printOf(message) || entry.message.status === "streaming") return;
    words.append(...textFiles(message).map(download));
    this.waiting.set(entry, { print: entry.print, words });
    this._placeWaiting();
  }

  /** A message with a selection or the focus in it is updated later. */
  _placeWaiting() {
    for (const [entry, { print, words }] of this.waiting) {
      if (entry.print === print && busy(entry.words)) continue;
      this.waiting.delete(entry);
      if (entry.print !== print) continue;
      keepFolds(entry.words, words);
      if (entry.watched) showLong(words);
      else if (!entry.lightly) keepShown(entry.words, words);
      this.scroll.keep(() => entry.words.replaceChildren(...words.childNodes));
      entry.lightly = false;
    }
  }

  /** @param {IntersectionObserverEntry[]} seen */
  _seen(seen) {
    for (const { target, isIntersecting } of seen) {
      if (target === this.head) {
        if (isIntersecting) this._older();
        continue;
      }
      const entry = this.entries.get(target.getAttribute("data-id") ?? "");
      if (!entry) continue;
      entry.near = isIntersecting;
      if (isIntersecting && entry.lightly && entry.message.status === "streaming") this._showLightly(entry);
      this._render(entry);
    }
  }

  async _older() {
    if (this.reading || this.head.hidden) return;
    this.reading = true;
    try {
      await this.older();
    } catch {
      this.count.textContent = "Older messages could not be loaded now.";
      return;
    } finally {
      this.reading = false;
    }
    this._lookAgain();
  }

  /** Older messages are read if their place is in view. */
  _lookAgain() {
    this.near.unobserve(this.head);
    this.near.observe(this.head);
  }

  /** The message that had the focus is gone: it is on the same button of the one in its place. @param {string} id @param {string} pressed its name */
  focusVersion(id, pressed) {
    const buttons = this.entries.get(id)?.buttons;
    if (!buttons || document.activeElement !== document.body) return;
    [buttons.previous, buttons.next].find(({ ariaLabel }) => ariaLabel === pressed)?.focus();
  }

  /** @param {PageMessage} message @returns {Shown} */
  _made(message) {
    const { id, role } = message;
    const article = document.createElement("article");
    const header = document.createElement("header");
    const [speaker, words, note] = ["h2", "div", "small"].map((name) => document.createElement(name));
    const buttons = new MessageButtons(message, () => this.acts);
    Object.assign(article.dataset, { id, role });
    article.className = "message";
    speaker.textContent = speakerOf(message);
    article.ariaLabel = speaker.textContent;
    words.className = "words";
    header.append(speaker, buttons.versions, buttons.acts);
    article.append(header, words, note);
    const entry = { article, words, note, buttons, message, print: "", lightly: true, near: false, watched: false };
    this.entries.set(id, entry);
    this.near.observe(article);
    return entry;
  }

  /** @param {Element} target */
  _clicked(target) {
    const entry = this.entries.get(target.closest("article")?.dataset.id ?? "");
    if (!entry) return;
    if (target.closest("button") === entry.buttons.copy) copyWords(entry.message.text);
    const file = target.closest("[data-file]")?.getAttribute("data-file");
    if (file) save(textFiles(entry.message)[Number(file)]);
  }
}

/** @param {DocumentFragment} content */
function prepare(content) {
  addCodeButtons(content);
  addTextButtons(content);
}

/** @param {Element} box */
function busy(box) {
  const selection = getSelection();
  if (box.contains(document.activeElement)) return true;
  return selection !== null && !selection.isCollapsed && selection.containsNode(box, true);
}

/** @param {Part} part @param {number} at */
function download(part, at) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "button small", textContent: `Download ${part.filename ?? "file"}` });
  button.dataset.file = String(at);
  return button;
}

/** @param {Part} part */
function save(part) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([textOfFile(part) ?? ""], { type: part.mediaType }));
  link.download = part.filename ?? "file.txt";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

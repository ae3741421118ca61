/** Files that are attached to the next message: chosen, pasted or dropped, and uploaded at once. */

import { messageOf } from "../../pages/elements.js";

/**
 * @import { StoredFile, UploadOptions } from "../../stillhere.js"
 * @import { Line } from "./attachment-line.js"
 * @import { Draft } from "./message-field.js"
 *
 * @typedef {(file: File, options: UploadOptions) => Promise<StoredFile>} Upload
 * @typedef {Line & {file: File, abort: AbortController, stored: StoredFile | null}} Attached
 */

const AWAY =
  "No connection. It is uploaded when the server is back: keep this page open until then, because files are not stored in this browser.";

export class Attachments {
  /**
   * @param {HTMLFormElement} form @param {{list: HTMLElement, said: HTMLElement, input: HTMLInputElement, button: HTMLElement,
   *   field: HTMLTextAreaElement}} parts
   */
  constructor(form, { list, said, input, button, field }) {
    this.list = list;
    this.said = said;
    this.field = field;
    this.input = input;
    /** @type {Attached[]} */
    this.items = [];
    /** How many times files are being added. */
    this.coming = 0;
    /** @type {Upload} */
    this.upload = () => Promise.reject(new Error("The chat is not ready yet."));
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this._add(input.files);
      input.value = "";
    });
    field.addEventListener("paste", (event) => {
      const { clipboardData } = event;
      // A text that is copied from an office program comes with a picture of itself.
      if (!clipboardData?.files.length || clipboardData.getData("text/plain")) return;
      event.preventDefault();
      this._add(clipboardData.files);
    });
    this._takeDrops(form);
    // After the first view, and before the server may be away.
    addEventListener("load", () => import("./attachment-line.js").catch(() => {}));
  }

  /** May the message be sent? If not, says why. */
  get ready() {
    const waiting = this.items.filter(({ stored }) => !stored);
    if (waiting.length + this.coming === 0) return true;
    const failed = waiting.find(({ retry }) => !retry.hidden);
    this._say(
      failed ? "A file was not uploaded: try again, or remove it." : "Wait until the files are uploaded, or remove them.",
    );
    failed?.retry.focus();
    return false;
  }

  get any() {
    return this.items.length + this.coming > 0;
  }

  /** The drafts with the files, which belong to the last one; nothing is attached any more. @param {Draft[]} drafts @returns {Draft[]} */
  into(drafts) {
    const files = this.items.flatMap(({ stored }) => (stored ? [partOf(stored)] : []));
    this.clear();
    const last = drafts.at(-1);
    if (files.length === 0 || !last) return drafts;
    const own = last.parts ?? (last.text ? [{ type: "text", text: last.text }] : []);
    return [...drafts.slice(0, -1), { ...last, parts: [...own, ...files] }];
  }

  /** The server is back: what it did not answer is uploaded. */
  again() {
    for (const item of this.items) if (item.line.hasAttribute("data-away")) this._send(item);
  }

  clear() {
    for (const item of [...this.items]) this._remove(item);
    this._say("");
  }

  /** @param {HTMLFormElement} form */
  _takeDrops(form) {
    const hasFiles = (/** @type {DragEvent} */ { dataTransfer }) => dataTransfer?.types.includes("Files") ?? false;
    for (const type of /** @type {const} */ (["dragenter", "dragover"])) {
      form.addEventListener(type, (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        form.classList.add("dropping");
      });
    }
    form.addEventListener("dragleave", ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && form.contains(relatedTarget))) form.classList.remove("dropping");
    });
    form.addEventListener("drop", (event) => {
      form.classList.remove("dropping");
      if (!hasFiles(event)) return;
      event.preventDefault();
      this._add(event.dataTransfer?.files);
    });
  }

  /** @param {FileList | null | undefined} chosen */
  async _add(chosen) {
    const files = [...(chosen ?? [])];
    this.coming += 1;
    try {
      const { lineOf } = await import("./attachment-line.js");
      for (const file of files) this._attach(file, lineOf(file));
    } catch {
      this._say("Not attached: the server does not answer.");
    }
    this.coming -= 1;
    this._changed();
    this.field.focus();
  }

  /** @param {File} file @param {Line} line */
  _attach(file, line) {
    /** @type {Attached} */
    const item = { ...line, file, abort: new AbortController(), stored: null };
    line.retry.addEventListener("click", () => this._send(item));
    line.remove.addEventListener("click", () => {
      this._remove(item);
      this.field.focus();
    });
    this.items.push(item);
    this.list.append(line.line);
    this._send(item);
  }

  /** @param {Attached} item */
  async _send(item) {
    const { file, progress, problem, retry, line } = item;
    item.abort = new AbortController();
    problem.textContent = "";
    line.removeAttribute("data-away");
    retry.hidden = true;
    progress.hidden = false;
    progress.value = 0;
    const onProgress = (/** @type {number} */ sent) => {
      progress.value = sent;
    };
    try {
      item.stored = await this.upload(file, { onProgress, signal: item.abort.signal });
      line.dataset.stored = item.stored.file;
      this._say(`${file.name} is attached.`);
    } catch (error) {
      if (!this.items.includes(item)) return;
      const unanswered = /** @type {{status?: number}} */ (error).status === 0;
      problem.textContent = unanswered ? AWAY : messageOf(error);
      line.toggleAttribute("data-away", unanswered);
      retry.hidden = false;
      this._say(`${file.name} was not uploaded.`);
    } finally {
      progress.hidden = true;
    }
  }

  /** @param {Attached} item */
  _remove(item) {
    this.items = this.items.filter((one) => one !== item);
    item.abort.abort();
    item.line.remove();
    this._changed();
  }

  /** A message with a file needs no text. */
  _changed() {
    this.field.required = !this.any;
  }

  /** @param {string} words */
  _say(words) {
    this.said.textContent = words;
  }
}

/** @param {StoredFile} stored */
const partOf = ({ file, name, media_type }) => ({ type: "file", mediaType: media_type, filename: name, file });

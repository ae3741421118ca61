/** "Not saved yet" beside messages that only this browser has for a while. It goes once the server has them. */

/**
 * @import { Connection } from "../../stillhere.js"
 * @import { PageMessage } from "./message-parts.js"
 * @import { Transcript } from "./transcript.js"
 * @typedef {{chat: Connection, transcript: Transcript, show: (messages: PageMessage[]) => void}} Needs
 */

// With a connection a message is saved before that.
const PATIENCE_MS = 2000;

export class UnsavedNotes {
  /** @param {Needs} needs `show`: shows the list as the server has it by now */
  constructor(needs) {
    this.needs = needs;
    /** Since when a message that the server has not confirmed is shown. @type {Map<string, number>} */
    this.since = new Map();
    this.timer = 0;
    needs.transcript.shown = (messages) => this._shown(messages);
    needs.chat.on("saved", () => this._look());
  }

  /** @param {PageMessage[]} messages */
  _shown(messages) {
    const open = messages.filter(({ position }) => position === undefined);
    this.since = new Map(open.map(({ id }) => [id, this.since.get(id) ?? performance.now()]));
    this._tell();
  }

  _look() {
    if (this.since.size === 0) return;
    const messages = /** @type {PageMessage[]} */ (this.needs.chat.peek()?.messages ?? []);
    const saved = messages.some(({ id, position }) => this.since.has(id) && position !== undefined);
    if (saved) this.needs.show(messages);
    else this._tell();
  }

  _tell() {
    const until = performance.now() - PATIENCE_MS;
    this.needs.transcript.noteUnsaved(new Set([...this.since.keys()].filter((id) => (this.since.get(id) ?? 0) <= until)));
    clearTimeout(this.timer);
    if (this.since.size > 0) this.timer = setTimeout(() => this._look(), PATIENCE_MS);
  }
}

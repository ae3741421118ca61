/** Somebody else started the chat over. What was known is over; nothing of it is written again. */
export class StartOver {
  /** @param {import("./link.js").Link} link */
  constructor(link) {
    this.link = link;
    this.unsent = [];
  }

  /** A push tells of an epoch; it may come late. */
  pushed(epoch) {
    const { session } = this.link;
    const told = this.told?.session === session ? this.told.epoch : 0;
    if (epoch > Math.max(session.epoch, told)) this.found(epoch);
  }

  /** The session is in another epoch than this page. */
  found(epoch) {
    const { link } = this;
    if (link.present.some((entry) => !entry.refused)) return; // Its answer tells.
    const unsent = [...link.dirty.values()];
    link.dirty.clear();
    link.step = null;
    link.stash();
    this.take(unsent, epoch);
  }

  /**
   * Read the session anew and tell the page, with the words that go no further. An answer and a push may both tell of one
   * clear: it is read once more then, and told once.
   */
  async take(unsent, epoch) {
    this.unsent.push(...unsent);
    this.epoch = Math.max(this.reading ? this.epoch : 0, epoch);
    this.toRead = true;
    if (this.reading) return;
    this.reading = true;
    try {
      await this._read();
    } catch (error) {
      this.reading = false;
      throw error;
    }
  }

  async _read() {
    const { link } = this;
    const { reader } = link;
    let restored = false;
    let cleared = false;
    while (this.toRead) {
      this.toRead = false;
      const found = await reader.patiently(() => link.http.get(`/sessions/${link.session.id}`));
      if (!found) {
        // Why was told. What was adopted before, and the words, are told now, and not again when a push comes late.
        this.told = { session: link.session, epoch: this.epoch };
        break;
      }
      const adopted = await reader.adopt(found.session, found.messages);
      restored ||= adopted.restored;
      cleared ||= adopted.cleared;
    }
    const { unsent } = this;
    this.unsent = [];
    this.reading = false;
    const messages = link.book.list();
    if (restored && !cleared) link.emit("changed", { messages, changed: [], removed: [] });
    else link.emit("cleared", { by: "other", unsent, messages });
  }
}

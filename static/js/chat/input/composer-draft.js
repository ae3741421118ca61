/** Stores text that is typed and not sent, one draft per session, and restores it on load. */
export class ComposerDraft {
  /** @param {HTMLTextAreaElement} field @param {Pick<import("../../stillhere.js").Connection, "draft" | "saveDraft">} chat */
  constructor(field, chat) {
    this.field = field;
    this.chat = chat;
    field.addEventListener("input", () => chat.saveDraft(field.value));
  }

  /** Never overwrites what is being typed. */
  async restore() {
    const text = await this.chat.draft();
    if (!text || this.field.value) return;
    this.field.value = text;
    this.field.dispatchEvent(new Event("input"));
  }

  sent() {
    this.chat.saveDraft("");
  }

  /** The chat switches to another project, which has its own draft. */
  leave() {
    this.field.value = "";
  }
}

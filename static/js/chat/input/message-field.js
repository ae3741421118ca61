/** The input for messages. A text that is too long for one message is never cut: a notice offers ways to send all of it. */
import { count } from "../../pages/counts.js";
import { composes } from "../../pages/elements.js";
import { lengthOf, wordsOf } from "./text-length.js";

const LONGEST = 100_000;
const TOO_LONG = "too-long";

/** @typedef {{text: string, parts?: object[]}} Draft What becomes one message. */

export class MessageField {
  /**
   * @param {HTMLFormElement} form @param {HTMLTextAreaElement} field @param {import("../notices.js").Notices} notices
   * @param {import("./attachments.js").Attachments} attachments
   */
  constructor(form, field, notices, attachments) {
    this.form = form;
    this.attachments = attachments;
    this.field = field;
    this.notices = notices;
    /** The longest paste in the present text. */
    this.pasted = "";
    /** @type {(drafts: Draft[]) => void} */
    this.send = () => {};
    this.ready = () => false;
    field.addEventListener("input", () => this._check());
    if (!CSS.supports("field-sizing", "content")) import("./field-height.js").then(({ growWithText }) => growWithText(field));
    field.addEventListener("paste", ({ clipboardData }) => this._remember(clipboardData?.getData("text/plain") ?? ""));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || composes(event)) return;
      event.preventDefault();
      form.requestSubmit();
    });
  }

  /** @param {(drafts: Draft[]) => void} send @param {() => boolean} ready may something be sent now? */
  onSend(send, ready) {
    this.send = send;
    this.ready = ready;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = wordsOf(this.field.value);
      if (lengthOf(text) > LONGEST) this.notices.focus(TOO_LONG);
      else if (text || this.attachments.any) this._send([{ text }]);
    });
  }

  /** @param {Draft[]} drafts */
  _send(drafts) {
    if (!this.ready() || !this.attachments.ready) return;
    this.field.value = "";
    this.pasted = "";
    // As if it were typed, for those that listen to this field.
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    this.field.focus();
    this.send(this.attachments.into(drafts));
  }

  /** @param {string} text */
  _remember(text) {
    const pasted = text.replace(/\r\n?/g, "\n");
    if (pasted.length > this.pasted.length) this.pasted = pasted;
  }

  async _check() {
    const { value } = this.field;
    const length = lengthOf(wordsOf(value));
    if (length <= LONGEST) return this.notices.clear(TOO_LONG);
    const sizes = `This text has ${count(length)} characters; one message takes ${count(LONGEST)}.`;
    const words = `${sizes} Nothing is cut: shorten it, or choose.`;
    this.notices.say(TOO_LONG, words);
    const { ways } = await import("./long-text.js");
    if (this.field.value !== value) return;
    const choices = ways({ text: wordsOf(value), pasted: this.pasted, longest: LONGEST });
    this.notices.say(
      TOO_LONG,
      words,
      choices.map(({ label, drafts }) => ({ label, act: () => this._send(drafts()) })),
    );
  }
}

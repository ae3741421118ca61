/** Editing a question and regenerating an answer: each makes another version of the message, and the former one stays. */

import { messageOf } from "../../pages/elements.js";
import { uuid } from "../../stillhere.js";

/**
 * @import { Connection } from "../../stillhere.js"
 * @import { PageState } from "../page-state.js"
 * @import { View } from "../view.js"
 * @import { ComposerDraft } from "../input/composer-draft.js"
 * @import { Draft } from "../input/message-field.js"
 * @import { MessageActs } from "./message-buttons.js"
 * @import { PageMessage } from "./message-parts.js"
 *
 * @typedef {object} Needs
 * @property {Connection} chat
 * @property {PageState} page
 * @property {View} view
 * @property {ComposerDraft} draft
 * @property {() => boolean} busy is an answer being made?
 * @property {(question: string) => unknown} again ask for another answer; those so far stay as other versions
 * @property {(messages: PageMessage[]) => unknown} show
 */

const LOAD = "Load the older messages first.";

export class Versions {
  /** @param {Needs} needs */
  constructor(needs) {
    this.needs = needs;
    /** The message that is edited in the composer. @type {string | null} */
    this.edited = null;
  }

  /** What a new message says about its place. In a session with branches another tab may show another branch meanwhile. */
  parent({ always = false } = {}) {
    const { chat, page } = this.needs;
    return always || chat.session?.head !== undefined ? { parent_id: page.last?.id ?? null } : {};
  }

  /** @returns {MessageActs} */
  get acts() {
    return {
      edit: (id) => this.edit(id),
      regenerate: (id) => this.regenerate(id),
      version: (id) => this.version(id),
    };
  }

  /** Put the user's messages at the end of the list or, after an edit, in place of the edited one and what follows it. @param {Draft[]} drafts */
  put(drafts) {
    const { page } = this.needs;
    let always = this.edited !== null;
    if (this.edited) page.messages = page.before(this.edited);
    for (const draft of drafts) {
      page.put({ id: uuid(), role: "user", ...draft, ...this.parent({ always }), status: "complete" });
      always = false;
    }
    this.stop();
  }

  /** `isLost`: nobody sent it or gave it up, so what it became stays in the composer. */
  stop(isLost = false) {
    if (!this.edited) return;
    const { page, draft, view } = this.needs;
    const { value } = view.message;
    const isChanged = page.messages.find(({ id }) => id === this.edited)?.text !== value;
    this.edited = null;
    draft.editDone(isLost && isChanged ? value : "");
    view.editing(false);
  }

  /** The chat switches to another session, which has its own draft and files. */
  leave() {
    const { draft, view } = this.needs;
    this.stop(true);
    draft.leave();
    view.attachments.clear();
  }

  /** The draft, and an edit that a reload interrupted. @param {string} [session] */
  restore(session) {
    const { page, draft } = this.needs;
    draft.restore(session);
    const edit = this.edited ? null : draft.interrupted();
    if (edit && page.messages.some(({ id }) => id === edit.id)) this.edit(edit.id, edit.text);
  }

  /** @param {string} id of a question; "" ends the edit @param {string} [text] what it became so far */
  edit(id, text) {
    const { chat, page, view, draft, busy } = this.needs;
    const message = page.messages.find((one) => one.id === id);
    if (!message) return this.stop();
    if (busy()) return view.waits();
    if (message === page.messages[0] && chat.unread > 0) return view.quiet(LOAD);
    this.edited = id;
    draft.edit(id, text ?? message.text);
    return view.editing(true);
  }

  /** @param {string} id of an answer */
  regenerate(id) {
    const { page, view, busy, again } = this.needs;
    const question = page.before(id).at(-1);
    if (busy()) return view.waits();
    if (!question) return view.quiet(LOAD);
    // The answer leaves the page with its button. A finger or mouse has no place to lose, and would open a keyboard.
    if (document.activeElement?.matches(":focus-visible")) view.focus();
    return again(question.id);
  }

  /** Show another version of a message, with what follows it. @param {string} id */
  async version(id) {
    const { chat, view, show, busy } = this.needs;
    if (busy()) return view.waits();
    const pressed = document.activeElement?.ariaLabel ?? "";
    try {
      await chat.moveHead(id);
      // The page may be in another project by now.
      show(chat.peek()?.messages ?? []);
      return view.transcript.focusVersion(id, pressed);
    } catch (error) {
      return view.alert(messageOf(error));
    }
  }
}

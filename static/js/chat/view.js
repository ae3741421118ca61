/** What the chat page shows around its messages. Text is inserted as text, never as markup. */

import { count } from "../pages/counts.js";
import { byId, composes, one } from "../pages/elements.js";
import { Attachments } from "./input/attachments.js";
import { MessageField } from "./input/message-field.js";
import { Transcript } from "./messages/transcript.js";
import { Notices } from "./notices.js";

/**
 * @import { Session, State } from "../stillhere.js"
 * @import { Upload } from "./input/attachments.js"
 * @import { Draft } from "./input/message-field.js"
 * @import { MessageActs } from "./messages/message-buttons.js"
 * @import { PageMessage } from "./messages/message-parts.js"
 *
 * @typedef {"stop" | "clear" | "back" | "finish" | "plan" | "again" | "goOn" | "fresh"} Act
 * @typedef {Record<Act, () => unknown> & MessageActs & {say: (drafts: Draft[]) => unknown, older: () => Promise<unknown>,
 *   open: (path: string) => unknown, upload: Upload}} Acts
 */

/** @type {[string, Act][]} */
const BUTTONS = [
  ["stop", "stop"],
  ["clear", "clear"],
  ["back", "back"],
  ["finish", "finish"],
  ["plan", "plan"],
  ["again", "again"],
  ["continue", "goOn"],
  ["new", "fresh"],
];

const WAIT = "wait";
// What Escape closes.
const OPEN = "dialog[open], :popover-open, details.menu[open]";

export class View {
  /** @param {HTMLElement} root @param {() => string} csrf */
  constructor(root, csrf) {
    this.root = root;
    this.streaming = false;
    this.connected = true;
    /** Ids of the newest message, and of the one that was being written when somebody here stopped it. */
    this.last = "";
    this.stopped = "";
    /** @type {(() => unknown) | null} */
    this.undo = null;
    this.message = byId("chat-message", HTMLTextAreaElement);
    this.notices = new Notices(this._part("notices"), this.message);
    const form = byId("chat-say", HTMLFormElement);
    this.attachments = new Attachments(form, {
      list: this._part("files"),
      said: this._part("files-said"),
      input: byId("chat-file", HTMLInputElement),
      button: this._part("attach"),
      field: this.message,
    });
    this.field = new MessageField(form, this.message, this.notices, this.attachments);
    this.transcript = new Transcript(this._part("log"), csrf);
  }

  /** @param {Acts} given */
  on(given) {
    const stop = () => {
      this.stopped = this.last;
      return given.stop();
    };
    const acts = { ...given, stop };
    const path = byId("chat-path", HTMLInputElement);
    /** @param {Draft[]} drafts */
    const send = (drafts) => {
      acts.say(drafts);
      this.transcript.toEnd();
    };
    this.attachments.upload = acts.upload;
    this.field.onSend(send, () => this._ready());
    this.transcript.onOlder(acts.older);
    this.transcript.acts = acts;
    this._part("edit-cancel").addEventListener("click", () => acts.edit(""));
    this._part("project").addEventListener("submit", (event) => {
      event.preventDefault();
      // White space is no name, and passes as one in the browser's eyes.
      if (path.value.trim()) acts.open(path.value.trim());
    });
    for (const [id, act] of BUTTONS) this._part(id).addEventListener("click", () => acts[act]());
    this.message.addEventListener("keydown", (event) => this._stopBy(event, acts.stop));
    this._part("undo").addEventListener("click", () => {
      this.undo?.();
      this.focus();
    });
  }

  /**
   * `streaming`: an answer is made, or asked for; `waiting`: it is only asked for. `stalled`: the id of one that nobody makes. `connected`: the server can be asked for an answer.
   * @param {{messages: PageMessage[], total: number, step: string, streaming: boolean, waiting: boolean,
   *   stalled: string | null, connected: boolean}} page
   */
  show({ messages, total, step, streaming, waiting, stalled, connected }) {
    this.transcript.show(messages, total);
    this.streaming = streaming;
    this.last = messages.at(-1)?.id ?? "";
    if (!streaming) this.notices.clear(WAIT);
    for (const item of this._part("steps").children) {
      if (item.getAttribute("data-step") === step) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    }
    this._part("opening").hidden = step !== "question" || messages.length > 0;
    this.connected = connected;
    this._part("send").hidden = streaming && connected;
    if (!streaming && document.activeElement === this._part("stop")) this.focus();
    this._part("stop").hidden = !streaming || (waiting && !connected);
    this._part("plan").hidden = step !== "brainstorm";
    this._part("finish").hidden = step !== "plan";
    // They keep their place while an answer is made: else the composer changes its height, and the transcript moves.
    for (const name of ["plan", "finish"]) this._part(name).classList.toggle("unseen", streaming);
    this._part("back").hidden = step === "question";
    byId("chat-clear", HTMLButtonElement).disabled = messages.length === 0;
    this._offer(streaming || !connected ? undefined : messages.at(-1), stalled);
  }

  /** @param {string} name @returns {HTMLElement} */
  _part(name) {
    return one(this.root, `#chat-${name}`, HTMLElement);
  }

  /** May something be sent now? */
  _ready() {
    const ready = !this.streaming || !this.connected;
    if (!ready) this.waits();
    return ready;
  }

  /** Says that something has to wait for the answer; the notice goes when the answer ends. */
  waits() {
    this.notices.say(WAIT, "Not now: wait for the answer, or stop it first (Esc in the message field).");
  }

  /** Escape stops the answer, unless it closes something. @param {KeyboardEvent} event @param {() => unknown} stop */
  _stopBy(event, stop) {
    if (event.key !== "Escape" || composes(event) || this._part("stop").hidden || document.querySelector(OPEN)) return;
    stop();
  }

  /** Offers to answer a question that has no answer, or a cut-off one. @param {PageMessage | undefined} last @param {string | null} stalled */
  _offer(last, stalled) {
    const cutOff = last?.status === "interrupted";
    const open = last?.role === "user" || cutOff || (last && last.id === stalled);
    this._part("again").hidden = !open;
    this._part("continue").hidden = !(cutOff && last.role === "assistant" && last.text);
    this._part("unanswered").hidden = !open;
    const ended = last?.id === this.stopped ? "You stopped the last answer." : "The last answer is incomplete.";
    this._part("unanswered-text").textContent = last?.role === "user" ? "Your last question has no answer yet." : ended;
  }

  /** @param {State} state */
  restored({ session, messages, total, savedAt, mirrored }) {
    if (messages.length === 0) return this.quiet(session && session.epoch > 1 ? "" : "Nothing saved here yet.");
    const of = total > messages.length ? ` of ${count(total)}` : "";
    const words = `${count(messages.length)}${of} ${total === 1 ? "message" : "messages"}`;
    const saved = savedAt ? `, saved ${time(savedAt)}` : "";
    return this.quiet(`${mirrored ? "Shown from this browser" : "Restored"}: ${words}${saved}.`, savedAt ?? "");
  }

  /** @param {string} savedAt */
  saved(savedAt) {
    this.quiet(`Saved ${time(savedAt)}.`, savedAt);
  }

  /** @param {string} words */
  quiet(words, title = "") {
    this._part("quiet").textContent = words;
    this._part("quiet").title = title;
  }

  /** @param {string} words */
  alert(words) {
    this._part("alert").textContent = words;
  }

  forgetSaid() {
    this.alert("");
    this.toast("");
  }

  /** @param {string} words @param {(() => unknown) | null} [undo] */
  toast(words, undo = null) {
    this._part("toast-text").textContent = words;
    this._part("undo").hidden = !undo;
    this.undo = undo;
  }

  /** @param {Session | null} session */
  linkTo(session) {
    const link = byId("chat-session", HTMLAnchorElement);
    link.hidden = !session;
    if (session) link.href = `/sessions/${session.id}/`;
  }

  /** The composer has an earlier message, or has it no more. @param {boolean} editing */
  editing(editing) {
    this._part("editing").hidden = !editing;
    this.focus();
  }

  focus() {
    this.message.focus();
  }
}

/** @param {string} at */
const time = (at) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

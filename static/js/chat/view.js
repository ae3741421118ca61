/** What the chat page shows. Text goes in as text, never as markup. */

import { show as showText } from "./markup.js";

const SPEAKERS = { user: "You", assistant: "Answer" };
const NOTES = { streaming: "still coming in", interrupted: "cut off" };
const NEAR_END = 80;

export class View {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.parts = Object.fromEntries([...root.querySelectorAll("[id]")].map((part) => [part.id.replace("chat-", ""), part]));
  }

  /** @param {Record<string, Function>} acts */
  on(acts) {
    const { say, message, project, path } = this.parts;
    say.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = message.value.trim();
      if (!text || this.streaming) return;
      message.value = "";
      acts.say(text);
    });
    message.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        say.requestSubmit();
      }
    });
    project.addEventListener("submit", (event) => {
      event.preventDefault();
      acts.open(path.value.trim());
    });
    const buttons = { stop: "stop", clear: "clear", back: "back", finish: "finish", plan: "plan", again: "again", new: "fresh" };
    for (const [id, act] of Object.entries(buttons)) this.parts[id].addEventListener("click", () => acts[act]());
    this.parts.undo.addEventListener("click", () => this.undo?.());
  }

  show({ messages, step, streaming }) {
    const { log, opening, send, stop, again, plan, finish, back, clear } = this.parts;
    const last = messages.at(-1);
    const following = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
    this._articles(log, messages);
    if (following) log.scrollTop = log.scrollHeight;
    this.streaming = streaming;
    opening.hidden = step !== "question" || messages.length > 0;
    for (const item of this.parts.steps.children) {
      if (item.dataset.step === step) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    }
    send.hidden = streaming;
    stop.hidden = !streaming;
    again.hidden = streaming || !(last?.role === "user" || last?.status === "interrupted");
    plan.hidden = step !== "brainstorm" || streaming;
    finish.hidden = step !== "plan" || streaming;
    back.hidden = step === "question";
    clear.disabled = messages.length === 0;
  }

  /** Only what changed is touched, so that a selection outlives the stream. */
  _articles(log, messages) {
    const present = new Map([...log.children].map((article) => [article.dataset.id, article]));
    messages.forEach((message, index) => {
      const article = present.get(message.id) ?? this._article(message);
      present.delete(message.id);
      const [, text, note] = article.children;
      showText(text, message.text);
      note.textContent = NOTES[message.status] ?? "";
      if (log.children[index] !== article) log.insertBefore(article, log.children[index] ?? null);
    });
    for (const article of present.values()) article.remove();
  }

  _article({ id, role }) {
    const article = document.createElement("article");
    article.dataset.id = id;
    article.dataset.role = role;
    article.append(...["h2", "div", "small"].map((name) => document.createElement(name)));
    article.children[1].className = "words";
    article.firstChild.textContent = SPEAKERS[role] ?? role;
    article.setAttribute("aria-label", SPEAKERS[role] ?? role);
    return article;
  }

  restored({ messages, savedAt, mirrored }) {
    if (messages.length === 0) return this.quiet("Nothing saved here yet.");
    const count = `${messages.length} ${messages.length === 1 ? "message" : "messages"}`;
    const saved = savedAt ? `, saved ${time(savedAt)}` : "";
    return this.quiet(`${mirrored ? "Shown from this browser" : "Restored"}: ${count}${saved}.`, savedAt);
  }

  saved(savedAt) {
    this.quiet(`Saved ${time(savedAt)}.`, savedAt);
  }

  quiet(words, title = "") {
    this.parts.quiet.textContent = words;
    this.parts.quiet.title = title;
  }

  alert(words) {
    this.parts.alert.textContent = words;
  }

  toast(words, undo = null) {
    this.parts["toast-text"].textContent = words;
    this.parts.undo.hidden = !undo;
    this.undo = undo;
  }

  linkTo(session) {
    const { session: link } = this.parts;
    link.hidden = !session;
    if (session) link.href = `/sessions/${session.id}/`;
  }

  focus() {
    this.parts.message.focus();
  }
}

const time = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** "3 messages waiting": what only this browser has, with a list, Retry and Copy. Loaded after the page. */
import { copyWords } from "../../pages/clipboard.js";
import { byId } from "../../pages/elements.js";
import { WaitingMessages } from "../../stillhere/storage/waiting.js";

/** @import { WaitingMessage } from "../../stillhere/storage/waiting.js" */

const LOOK_MS = 1500;
// A message that is being sent waits for a moment.
const PATIENCE_MS = 2500;
const SENT_MS = 10_000;
const SHOWN_CHARACTERS = 300;

export class WaitingBadge {
  /** @param {string} account */
  constructor(account) {
    this.account = account;
    this.queue = new WaitingMessages(location.origin, account);
    /** @type {WaitingMessage[]} */
    this.messages = [];
    this.print = "[]";
    this.button = byId("waiting-open", HTMLButtonElement);
    this.dialog = byId("waiting-list", HTMLDialogElement);
    this.rows = byId("waiting-rows", HTMLElement);
    this.state = byId("waiting-state", HTMLElement);
    this.retry = byId("waiting-retry", HTMLButtonElement);
  }

  begin() {
    this.button.addEventListener("click", () => this.dialog.showModal());
    byId("waiting-close", HTMLElement).addEventListener("click", () => this.dialog.close());
    byId("waiting-copy", HTMLElement).addEventListener("click", () => copyWords(this.messages.map(wordsOf).join("\n\n")));
    this.retry.addEventListener("click", () => this._retry());
    document.addEventListener("visibilitychange", () => this._look());
    setInterval(() => this._look(), LOOK_MS);
    this._look();
  }

  /** A hidden page does nothing. */
  async _look() {
    if (document.hidden) return;
    const since = Date.now() - PATIENCE_MS;
    const messages = (await this.queue.read()).filter(({ at, refused }) => at < since || refused);
    const print = JSON.stringify(messages);
    if (print === this.print) return;
    this.print = print;
    this.messages = messages;
    this._draw();
  }

  _draw() {
    const { length } = this.messages;
    this.button.hidden = length === 0;
    this.button.textContent = length === 0 ? "" : `${length} ${length === 1 ? "message" : "messages"} waiting`;
    this.rows.replaceChildren(...this.messages.map(row));
    if (length === 0 && this.dialog.open) this.dialog.close();
  }

  async _retry() {
    this.retry.disabled = true;
    this.state.textContent = "Sending…";
    const projects = [...new Map(this.messages.map(({ project, chat }) => [`${project}#${chat}`, { project, chat }])).values()];
    const sent = await Promise.all(projects.map((place) => this._send(place)));
    this.state.textContent = sent.every(Boolean) ? "" : "Not sent: the server does not answer, or it refuses them.";
    this.retry.disabled = false;
    this.retry.focus();
    this._look();
  }

  /** By the page that has this chat open, else by a connection of its own. @param {{project: string, chat: string | undefined}} place */
  async _send({ project, chat }) {
    const wanted = new CustomEvent("stillhere:retry", { detail: project, cancelable: true });
    if (chat === undefined && !document.dispatchEvent(wanted)) return this._gone(project);
    let connection;
    try {
      const { connect } = await import("../../stillhere.js");
      connection = connect({ project, chat, client: "chat", auth: { cookie: true, user: this.account } });
      await connection.resume();
      await connection.retry();
      return await this._gone(project);
    } catch {
      return false;
    } finally {
      connection?.close();
    }
  }

  /** Resolves with whether the project's messages are sent. @param {string} project */
  async _gone(project) {
    for (const until = Date.now() + SENT_MS; Date.now() < until; ) {
      const left = await this.queue.read();
      if (!left.some((message) => message.project === project)) return true;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return false;
  }
}

/** @param {WaitingMessage} message */
const wordsOf = ({ text, files }) => text || `(${files} ${files === 1 ? "file" : "files"})`;

/** @param {WaitingMessage} message */
function row(message) {
  const item = document.createElement("li");
  const words = document.createElement("div");
  const text = wordsOf(message);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  const at = new Date(message.at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  const facts = `${message.project}, ${at}${message.refused ? `. Refused: ${message.refused}` : ""}`;
  words.append(
    Object.assign(document.createElement("span"), { className: "waiting-text", textContent: shown }),
    Object.assign(document.createElement("span"), { className: "hint", textContent: facts }),
  );
  const copy = Object.assign(document.createElement("button"), {
    type: "button",
    className: "button small",
    textContent: "Copy",
  });
  copy.ariaLabel = `Copy ${shown.slice(0, 40)}`;
  copy.addEventListener("click", () => copyWords(text));
  item.append(words, copy);
  return item;
}

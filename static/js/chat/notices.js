/** Lines above the composer, one for each cause. A line disappears when its cause is over. */

/** @typedef {{label: string, act?: () => void, href?: string}} Choice A button, or with `href` a link into another tab. */

export class Notices {
  /** @param {HTMLElement} box a live region @param {HTMLElement} heir gets the focus of a line that disappears */
  constructor(box, heir) {
    this.box = box;
    this.heir = heir;
  }

  /** @param {string} cause @param {string} words @param {Choice[]} choices */
  say(cause, words, choices = []) {
    const print = JSON.stringify([words, choices.map(({ label }) => label)]);
    const line = this._line(cause) ?? this._made(cause);
    if (line.dataset.print === print) return;
    line.dataset.print = print;
    const text = document.createElement("span");
    text.textContent = words;
    line.replaceChildren(text, ...choices.map(control));
  }

  /** @param {string} cause */
  clear(cause) {
    const line = this._line(cause);
    const focused = line?.contains(document.activeElement);
    line?.remove();
    if (focused) this.heir.focus();
  }

  /** The first action of the notice gets the focus. @param {string} cause */
  focus(cause) {
    /** @type {HTMLElement | null | undefined} */
    const first = this._line(cause)?.querySelector("button, a");
    first?.focus();
  }

  /** @param {string} cause @returns {HTMLElement | null} */
  _line(cause) {
    return this.box.querySelector(`[data-cause="${cause}"]`);
  }

  /** @param {string} cause */
  _made(cause) {
    const line = document.createElement("div");
    line.className = "chat-notice";
    line.dataset.cause = cause;
    this.box.append(line);
    return line;
  }
}

/** @param {Choice} choice */
function control({ label, act, href }) {
  const made = href ? linkTo(href) : buttonFor(act);
  made.className = "button small";
  made.textContent = label;
  return made;
}

/** @param {string} href */
const linkTo = (href) => Object.assign(document.createElement("a"), { href, target: "_blank", rel: "noopener" });

/** @param {(() => void) | undefined} act */
function buttonFor(act) {
  const button = document.createElement("button");
  button.type = "button";
  button.addEventListener("click", () => act?.());
  return button;
}

/** The buttons of a message: copy, edit or regenerate, and ‹2/3› where it has other versions. */

/**
 * @import { PageMessage } from "./message-parts.js"
 *
 * @typedef {{edit: (id: string) => unknown, regenerate: (id: string) => unknown, version: (id: string) => unknown}} MessageActs
 */

export class MessageButtons {
  /** @param {PageMessage} message @param {() => MessageActs} acts */
  constructor({ id, role }, acts) {
    this.copy = button("Copy", "Copy message", "c");
    this.acts = document.createElement("span");
    this.acts.className = "message-acts";
    this.versions = document.createElement("span");
    this.versions.className = "versions";
    this.versions.role = "group";
    this.versions.ariaLabel = "Versions";
    const again = role === "user" ? button("Edit", "Edit message", "e") : button("Regenerate", "Regenerate answer", "r");
    again.addEventListener("click", () => (role === "user" ? acts().edit(id) : acts().regenerate(id)));
    this.acts.append(this.copy, again);
    const [previous, count, next] = [
      button("‹", "Previous version"),
      document.createElement("span"),
      button("›", "Next version"),
    ];
    this.previous = previous;
    this.next = next;
    this.count = count;
    for (const one of [previous, next]) {
      one.addEventListener("click", () => one.dataset.to && one.ariaDisabled !== "true" && acts().version(one.dataset.to));
    }
    this.versions.append(previous, count, next);
  }

  /** @param {PageMessage} message */
  show({ text, siblings }) {
    this.copy.hidden = !text;
    this.versions.hidden = !siblings;
    if (!siblings) return;
    this.count.textContent = `${siblings.index}/${siblings.count}`;
    this.count.ariaLabel = `Version ${siblings.index} of ${siblings.count}`;
    for (const [one, to] of /** @type {const} */ ([
      [this.previous, siblings.previous],
      [this.next, siblings.next],
    ])) {
      one.dataset.to = to ?? "";
      // Not `disabled`: it would lose the focus.
      one.ariaDisabled = String(!to);
    }
  }
}

/** @param {string} words @param {string} label @param {string} [key] presses it while the message has the focus */
function button(words, label, key) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: "button small quiet", textContent: words, ariaLabel: label });
  if (key) made.dataset.key = key;
  return made;
}

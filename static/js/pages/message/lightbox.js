/** A picture of a message, large, with the others of the transcript before and after it. */

export class Lightbox {
  /** @param {HTMLElement[]} links @param {number} at */
  constructor(links, at) {
    this.links = links;
    this.dialog = document.createElement("dialog");
    this.picture = document.createElement("img");
    this.name = document.createElement("p");
    this.place = document.createElement("span");
    this.download = document.createElement("a");
    this.dialog.className = "lightbox";
    this.place.className = "hint number";
    this.place.role = "status";
    Object.assign(this.download, { className: "button small", textContent: "Download" });
    this.dialog.append(this._bar(), this.picture);
    this.dialog.addEventListener("keydown", ({ key }) => {
      if (key === "ArrowLeft") this.show(this.at - 1);
      else if (key === "ArrowRight") this.show(this.at + 1);
    });
    // A click beside the picture.
    this.dialog.addEventListener("click", ({ target }) => target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => this.dialog.remove());
    this.at = at;
    this.show(at);
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  _bar() {
    const bar = document.createElement("div");
    bar.className = "row";
    bar.append(this.name, this.place);
    if (this.links.length > 1) {
      bar.append(button("‹", "Previous image", () => this.show(this.at - 1)));
      bar.append(button("›", "Next image", () => this.show(this.at + 1)));
    }
    bar.append(
      this.download,
      button("Close", "Close", () => this.dialog.close()),
    );
    return bar;
  }

  /** @param {number} at */
  show(at) {
    const { links, picture } = this;
    this.at = (at + links.length) % links.length;
    const link = links[this.at];
    const thumbnail = link.querySelector("img");
    picture.src = thumbnail?.src ?? "";
    picture.alt = thumbnail?.alt ?? "";
    this.name.textContent = picture.alt;
    this.dialog.ariaLabel = picture.alt;
    this.download.href = link.getAttribute("href") ?? "";
    this.download.download = picture.alt;
    this.place.textContent = links.length > 1 ? `${this.at + 1} of ${links.length}` : "";
  }
}

/** @param {string} words @param {string} label @param {() => void} act */
function button(words, label, act) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: "button small", textContent: words, ariaLabel: label });
  made.addEventListener("click", act);
  return made;
}

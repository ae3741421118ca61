/** The choice of a model, shown if the endpoint lists several. The choice is kept in this browser. */

import { byId } from "../../pages/elements.js";
import { store, stored } from "../../pages/stored.js";

/** @import { Connection } from "../../stillhere.js" */

const KEY = "stillhereModel";

export class ModelChoice {
  constructor() {
    this.box = byId("chat-model-choice", HTMLElement);
    this.select = byId("chat-model", HTMLSelectElement);
    this.select.addEventListener("change", () => store(KEY, this.select.value));
  }

  /** What a request names; "" for the configured model. */
  get chosen() {
    return this.box.hidden ? "" : this.select.value;
  }

  /** @param {Pick<Connection, "models">} chat */
  async load(chat) {
    const found = await chat.models().catch(() => null);
    const names = found?.items.map(({ id }) => id) ?? [];
    if (names.length < 2) return;
    const first = found?.default && !names.includes(found.default) ? [new Option(found.default, "")] : [];
    this.select.replaceChildren(...first, ...names.map((name) => new Option(name, name)));
    const wanted = stored(KEY) ?? found?.default ?? "";
    if (names.includes(wanted)) this.select.value = wanted;
    this.box.hidden = false;
  }
}

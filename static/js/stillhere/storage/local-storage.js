/**
 * localStorage for the rest of the module. Its writes are synchronous, so it covers the moment in which a page closes. If the
 * browser blocks it, values are kept in memory.
 */
import { nameOf } from "../util.js";

/** @import { Warn } from "../types.d.ts" */

/** Reading the property throws where a browser blocks storage. */
function area() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** @param {unknown} error */
const isFull = (error) => nameOf(error) === "QuotaExceededError" || nameOf(error) === "NS_ERROR_DOM_QUOTA_REACHED";

export class LocalStore {
  /** @param {Warn} warn */
  constructor(warn) {
    this.warn = warn;
    this.area = area();
    /** @type {Map<string, string>} */
    this.memory = new Map();
    this.blocked = false;
    this._names(); // A blocked area may also throw only when it is used.
  }

  /** The value under this name; null if there is none or it is not JSON. @template T @param {string} name @returns {T | null} */
  get(name) {
    try {
      return JSON.parse((this.area ? this.area.getItem(name) : this.memory.get(name)) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * If storage is full, mirrors (copies of what the server has) are removed first.
   * @param {string} name @param {unknown} content @param {{mirror?: boolean}} [options] @returns {boolean} whether it is kept
   */
  set(name, content, { mirror = false } = {}) {
    const text = JSON.stringify(content);
    if (!this.area) {
      this.memory.set(name, text);
      return true;
    }
    /** @type {unknown} */
    let last;
    for (let room = true; room; room = !mirror && this._dropAMirror(name)) {
      try {
        this.area.setItem(name, text);
        return true;
      } catch (error) {
        if (!isFull(error)) {
          this._block(error);
          return this.set(name, content);
        }
        last = error;
      }
    }
    this.warn("storage_full", last);
    return false;
  }

  /** @param {string} name */
  remove(name) {
    this.memory.delete(name);
    try {
      this.area?.removeItem(name);
    } catch (error) {
      this._block(error);
    }
  }

  /** `[name without prefix, value]` of all names with this prefix. @template T @param {string} prefix @returns {[string, T][]} */
  listed(prefix) {
    const names = this._names().filter((name) => name.startsWith(prefix));
    return names.flatMap((name) => {
      const content = /** @type {T | null} */ (this.get(name));
      return content ? [[name.slice(prefix.length), content]] : [];
    });
  }

  /** @returns {string[]} */
  _names() {
    try {
      const { area } = this;
      if (!area) throw new Error("This browser blocks localStorage.");
      return Array.from({ length: area.length }, (_, at) => area.key(at)).filter((name) => name !== null);
    } catch (error) {
      this._block(error);
      return [...this.memory.keys()];
    }
  }

  /** @param {unknown} error */
  _block(error) {
    this.area = null;
    if (!this.blocked) this.warn("storage_blocked", error);
    this.blocked = true;
  }

  /** @param {string} except */
  _dropAMirror(except) {
    const mirror = this._names().find((name) => name.startsWith("stillhere:mirror:") && name !== except);
    if (mirror) this.remove(mirror);
    return Boolean(mirror);
  }
}

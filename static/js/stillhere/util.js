/** Small things that every part of the module uses. */

/** A random UUID, also where the page is not served over HTTPS (`crypto.randomUUID` is missing there). */
export function uuid() {
  if (globalThis.crypto.randomUUID) return globalThis.crypto.randomUUID();
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

let latest = 0;

/** Milliseconds. Never before what is known: a machine's clock may be set back, and what is said later follows. */
export function now() {
  latest = Math.max(Date.now(), latest);
  return latest;
}

/** What is said from now on follows this. @param {number} [at] */
export function follows(at = 0) {
  latest = Math.max(latest, at + 1);
}

/** A short name for a long text, to tell accounts apart in storage keys. It does not reveal the text. @param {string} text */
export function digest(text) {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  return ((a >>> 0) * 4096 + (b >>> 20)).toString(36);
}

/** What the storage keys of one account at one server begin with. @param {string} base the server's address @param {string} account */
export const accountScope = (base, account) => digest(`${base}\n${account}`);

/** @param {number} milliseconds @returns {Promise<void>} */
export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** @param {string[]} list @param {string[]} others */
export const without = (list, others) => list.filter((one) => !others.includes(one));

/** @param {string} text */
export const bytesOf = (text) => new TextEncoder().encode(text).length;

/** What was passed, for an error that says so. @param {unknown} value */
export function kindOf(value) {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** @param {unknown} error whatever was thrown */
export const nameOf = (error) => /** @type {{name?: string} | null | undefined} */ (error)?.name;

/**
 * Resolves with the promise, or with `otherwise` after this long.
 * @template T @param {Promise<T>} promise @param {number} milliseconds @param {T} [otherwise]
 */
export function within(promise, milliseconds, otherwise) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Promise<T | undefined>} */
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(otherwise), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** @typedef {(detail: unknown, type: string) => void} Handler */

/** Handlers by type; one that throws stops neither the others nor saving. */
export class Emitter {
  /** @param {string[]} [kept] types that wait for their first handler */
  constructor(kept = []) {
    /** @type {Map<string, Set<Handler>>} */
    this.handlers = new Map();
    /** What nobody heard. @type {Map<string, unknown[]>} */
    this.unheard = new Map(kept.map((type) => [type, []]));
  }

  /** @param {string} type @param {Handler} handler */
  on(type, handler) {
    const handlers = this.handlers.get(type) ?? new Set();
    this.handlers.set(type, handlers.add(handler));
    for (const [name, details] of this.unheard)
      if (details.length > 0 && (name === type || type === "*")) queueMicrotask(() => this._tell(name));
    return () => void handlers.delete(handler);
  }

  /** What was emitted before there was a handler. @param {string} type */
  _tell(type) {
    const details = this.unheard.get(type) ?? [];
    this.unheard.set(type, []);
    for (const detail of details) this.emit(type, detail);
  }

  /** @param {string} type @param {(detail: unknown) => boolean} isOver what need not be told any more */
  forget(type, isOver) {
    const details = this.unheard.get(type) ?? [];
    this.unheard.set(
      type,
      details.filter((detail) => !isOver(detail)),
    );
  }

  /** @param {string} type @param {unknown} detail */
  emit(type, detail) {
    if (![type, "*"].some((name) => this.handlers.get(name)?.size)) this.unheard.get(type)?.push(detail);
    for (const name of [type, "*"]) {
      for (const handler of [...(this.handlers.get(name) ?? [])]) {
        try {
          handler(detail, type);
        } catch (error) {
          console.error("[Stillhere] a handler failed", error);
        }
      }
    }
  }
}

/**
 * Whose requests may be sent together: one server, account and project, or one chat of it.
 * @param {Pick<import("./server/http.js").Http, "base" | "auth">} http @param {string} project @param {string} [chat]
 */
export function scopeOf(http, project, chat) {
  const account = http.auth.user ?? http.auth.key ?? "";
  const place = chat === undefined ? "" : `#${encodeURIComponent(chat)}`;
  return `${accountScope(http.base, account)}:${encodeURIComponent(project)}${place}`;
}

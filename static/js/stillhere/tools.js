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

/** A short name for a long text, to tell accounts apart in storage keys. No secret can be had back from it. */
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

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export const bytesOf = (text) => new TextEncoder().encode(text).length;

/** Resolves with the promise, or with `otherwise` after this long. */
export function within(promise, milliseconds, otherwise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(otherwise), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Handlers by type; one that throws never stops the others, nor the saving. */
export class Emitter {
  constructor() {
    this.handlers = new Map();
  }

  on(type, handler) {
    if (!this.handlers.has(type)) this.handlers.set(type, new Set());
    this.handlers.get(type).add(handler);
    return () => this.handlers.get(type).delete(handler);
  }

  emit(type, detail) {
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

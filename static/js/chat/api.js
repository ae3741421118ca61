/** Calls to the public API that the browser module does not make, with the page's login. */

export class Refused extends Error {
  /** @param {{code: string, message: string, details?: Record<string, unknown>}} error @param {number} status */
  constructor({ code, message, details = {} }, status) {
    super(message);
    /** May the same be answered later? After too many requests, and errors of the server. */
    this.passing = status > 428;
    this.code = code;
    this.details = details;
  }
}

export class Api {
  /** @param {{user: string, csrf: string}} auth as it is when something is called */
  constructor(auth) {
    this.auth = auth;
  }

  /**
   * Rejects if there is no response (TypeError), or with a `Refused`.
   * @template T @param {string} method @param {string} path @param {object} [content] @returns {Promise<T>}
   */
  async call(method, path, content) {
    const { user, csrf } = this.auth;
    const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf, "Stillhere-Account": user };
    const answer = await fetch(`/api/v1${path}`, { method, headers, body: content && JSON.stringify(content) }).catch(() => {
      throw new TypeError("The server does not answer.");
    });
    const body = await answer.json().catch(() => null);
    const { ok, status } = answer;
    if (!ok) throw new Refused(body?.error ?? { code: "error", message: `The server answered ${status}.` }, status);
    return body;
  }

  /** @template T @param {string} path @returns {Promise<T>} */
  get(path) {
    return this.call("GET", path);
  }

  /** For optional saves: a failure is ignored. @param {string} method @param {string} path @param {object} content */
  try(method, path, content) {
    this.call(method, path, content).catch(() => {});
  }
}

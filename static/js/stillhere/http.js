/** Requests to the API: credentials, refusals, and how long to wait before the next attempt. */

const TIMEOUT_MS = 30_000;
const LONGEST_WAIT_MS = 30_000;
const PROBE_MS = 5000;
// Somebody has to do something: none of these passes by itself.
const DENIED = new Set([401, 403, "origin_denied", "not_stillhere"]);
// Where something else answers than who was asked for.
const ELSEWHERE = new Set([404, 405]);

/** The server's refusal, or no answer at all (`status` 0). */
export class ApiError extends Error {
  constructor(status, error, retryAfter = 0) {
    super(error.message);
    this.name = "ApiError";
    this.status = status;
    this.code = error.code;
    this.details = error.details ?? {};
    this.retryAfter = retryAfter;
  }

  /** Worth repeating as it is: no network, the server's trouble, too many at once. */
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }

  /** This page is not let in: by its key, by its origin, or because nobody is there who could. */
  get denied() {
    return DENIED.has(this.status) || DENIED.has(this.code);
  }
}

/** How a page stands with the server after an answer, or after what came instead. @param {ApiError | null} error */
export function statusAfter(error) {
  if (error?.denied) return "denied";
  return error?.passing ? "offline" : "online";
}

/** Milliseconds to wait after so many failures; scattered, so that a thousand pages do not come back at once. */
export function backoff(failures, retryAfter = 0) {
  const wait = Math.min(LONGEST_WAIT_MS, 400 * 2 ** Math.min(failures, 10));
  return Math.max(retryAfter * 1000, wait * (0.5 + Math.random() / 2));
}

function cookie(name) {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

export class Http {
  /** @param {string} baseUrl @param {import("../stillhere.js").Auth} auth */
  constructor(baseUrl, auth) {
    this.base = new URL(baseUrl || "/", globalThis.location?.href).href.replace(/\/$/, "");
    this.auth = auth;
    this.readable = this.base.startsWith(`${globalThis.location?.origin}/`) || this.base === globalThis.location?.origin;
  }

  csrf() {
    return this.auth.csrf ?? cookie("csrftoken");
  }

  /** `keepalive`: the request outlives the page. */
  async request(method, path, body, headers = {}, { keepalive = false } = {}) {
    const sent = { Accept: "application/json", ...headers };
    if (body !== undefined) sent["Content-Type"] = "application/json";
    if (this.auth.key) sent.Authorization = `Bearer ${this.auth.key}`;
    else if (method !== "GET") sent["X-CSRFToken"] = this.csrf();
    let response;
    let text;
    try {
      response = await fetch(`${this.base}/api/v1${path}`, {
        method,
        headers: sent,
        body: body === undefined ? undefined : JSON.stringify(body),
        credentials: this.auth.key ? "omit" : "same-origin",
        cache: "no-store",
        keepalive,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw await this._unanswered(error);
    }
    this.readable = true;
    return this._read(response, text);
  }

  /**
   * A browser does not tell a server that is away from one that does not list the page's origin. But the module's own file
   * is for every origin: where that can be read and the API never could, it is the origin.
   */
  async _unanswered(error) {
    const away = new ApiError(0, { code: "unreachable", message: `The server does not answer (${error.message}).` });
    if (this.readable || error.name !== "TypeError" || !(await this._isThere())) return away;
    const { origin } = globalThis.location;
    const listed = `Add ${origin} to STILLHERE_CORS_ORIGINS where it runs.`;
    const todo = origin === "null" ? "Serve this page by HTTP: one from a file has no origin that could be listed." : listed;
    return new ApiError(0, { code: "origin_denied", message: `${this.base} does not let pages of this origin in. ${todo}` });
  }

  async _isThere() {
    const asked = { method: "HEAD", credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(PROBE_MS) };
    return fetch(`${this.base}/static/js/stillhere.js`, asked).then(({ ok }) => ok, () => false);
  }

  _read(response, text) {
    const json = /\bjson\b/.test(response.headers.get("Content-Type") ?? "");
    if (text && !json && (response.ok || ELSEWHERE.has(response.status))) {
      const message = `What answers at ${this.base} (${response.status}) is not Stillhere. Is \`baseUrl\` its address?`;
      throw new ApiError(0, { code: "not_stillhere", message });
    }
    let content = null;
    try {
      content = text ? JSON.parse(text) : null;
    } catch {
      if (response.ok) throw new ApiError(0, { code: "unreadable", message: "The answer was cut off." });
    }
    if (response.ok) return { status: response.status, body: content, etag: response.headers.get("ETag") };
    const error = content?.error ?? { code: "error", message: `The server answered ${response.status}.` };
    const asked = response.headers.get("Retry-After") ?? "";
    const seconds = /^\d+$/.test(asked) ? Number(asked) : Math.max(0, (Date.parse(asked) - Date.now()) / 1000) || 0;
    throw new ApiError(response.status, error, seconds);
  }

  get(path) {
    return this.request("GET", path).then((answer) => answer.body);
  }

  /** Last words. Credentials travel in the body, for a beacon cannot carry headers. */
  beacon(session, body, flushToken) {
    if (this.auth.key && !flushToken) return false;
    const credentials = this.auth.key ? { flush_token: flushToken } : { csrf: this.csrf() };
    const text = JSON.stringify({ ...body, ...credentials });
    const url = `${this.base}/api/v1/sessions/${session}/flush`;
    if (globalThis.navigator.sendBeacon?.(url, text)) return true;
    const credentialed = this.auth.key ? "omit" : "same-origin";
    fetch(url, { method: "POST", body: text, keepalive: true, credentials: credentialed }).catch(() => {});
    return true;
  }

  socketUrl(project, ticket) {
    const url = new URL(`${this.base}/ws/events/`);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("project", project);
    if (ticket) url.searchParams.set("ticket", ticket);
    return url.href;
  }
}

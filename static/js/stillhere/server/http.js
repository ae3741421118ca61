/** Requests to the API: credentials, refusals, and how long to wait before the next attempt. */
import { nameOf } from "../util.js";

/**
 * @import { ConnectionStatus } from "../../stillhere.js"
 * @import { EntryBody, ErrorBody, Refusal } from "../types.d.ts"
 *
 * @typedef {{key?: string, user?: string, csrf?: string}} Auth by a key, else by the login cookie
 */
/** @template T @typedef {{status: number, body: T, etag: string | null}} Answer */

const TIMEOUT_MS = 30_000;
const LONGEST_WAIT_MS = 30_000;
const PROBE_MS = 5000;
const ACCOUNT = "Stillhere-Account";
// Somebody has to act: none of these ends by itself.
/** @type {Set<number | string>} */
const DENIED = new Set([401, 403, "origin_denied", "not_stillhere"]);
// Another server answered.
const ELSEWHERE = new Set([404, 405]);

/** The server's refusal, or no answer at all (`status` 0). */
export class ApiError extends Error {
  /** @param {number} status @param {ErrorBody} error @param {number} [retryAfter] seconds */
  constructor(status, error, retryAfter = 0) {
    super(error.message);
    this.name = "ApiError";
    this.status = status;
    this.code = error.code;
    this.details = error.details ?? {};
    this.retryAfter = retryAfter;
  }

  /** The error as plain data. @returns {Refusal} */
  get refusal() {
    const { status, code, message, details } = this;
    return { status, code, message, details };
  }

  /** Worth retrying unchanged: no network, a server error, too many requests. */
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }

  /** Access is denied: by the key, the origin or a missing login, or another server answered. */
  get denied() {
    return DENIED.has(this.status) || DENIED.has(this.code);
  }
}

/** The page's status after a response, or after an error instead of one. @param {ApiError | null} error @returns {ConnectionStatus} */
export function statusAfter(error) {
  if (error?.denied) return "denied";
  return error?.passing ? "offline" : "online";
}

/** Milliseconds to wait after so many failures; randomised, so that a thousand pages do not retry at once. @param {number} failures */
export function backoff(failures, retryAfter = 0) {
  const wait = Math.min(LONGEST_WAIT_MS, 400 * 2 ** Math.min(failures, 10));
  return Math.max(retryAfter * 1000, wait * (0.5 + Math.random() / 2));
}

/** @param {string} name */
function cookie(name) {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

export class Http {
  /** @param {string} baseUrl @param {Auth} auth */
  constructor(baseUrl, auth) {
    // The API's documentation shows its address with `/api/v1`.
    this.base = new URL(baseUrl || "/", globalThis.location?.href).href.replace(/(\/api\/v1)?\/*$/, "");
    this.auth = auth;
    /** Whose login the cookie was at first. Somebody else may sign in beside this page: that is refused then. */
    this.account = "";
    /** What only pages know: some servers refuse to hear of it. @type {RequestInit} */
    this.asPage = globalThis.location ? { credentials: auth.key ? "omit" : "same-origin", cache: "no-store" } : {};
    this.readable = this.base.startsWith(`${globalThis.location?.origin}/`) || this.base === globalThis.location?.origin;
  }

  csrf() {
    return this.auth.csrf ?? (cookie("__Host-csrftoken") || cookie("csrftoken"));
  }

  /**
   * `keepalive`: the request outlives the page. `signal`: ends it.
   * @template T @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers]
   * @param {{keepalive?: boolean, signal?: AbortSignal}} [options] @returns {Promise<Answer<T>>} rejects with an `ApiError`
   */
  async request(method, path, body, headers = {}, { keepalive = false, signal } = {}) {
    /** @type {Record<string, string>} */
    const sent = { Accept: "application/json", ...headers };
    if (body !== undefined) sent["Content-Type"] = "application/json";
    if (this.auth.key) sent.Authorization = `Bearer ${this.auth.key}`;
    else if (method !== "GET") sent["X-CSRFToken"] = this.csrf();
    if (this.account) sent[ACCOUNT] = this.account;
    let response;
    let text;
    try {
      response = await fetch(`${this.base}/api/v1${path}`, {
        method,
        headers: sent,
        body: body === undefined ? undefined : JSON.stringify(body),
        ...this.asPage,
        ...(keepalive ? { keepalive } : {}),
        // Older browsers have no `AbortSignal.any`; pages pass no signal.
        signal: signal ? AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), signal]) : AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw await this._unanswered(error);
    }
    this.readable = true;
    this.account ||= response.headers.get(ACCOUNT) ?? "";
    return this._read(response, text);
  }

  /**
   * A browser does not distinguish an unreachable server from one that does not list the page's origin. But every origin
   * can read the module's own file: if that works and the API never did, the origin is the cause.
   * @param {unknown} error
   */
  async _unanswered(error) {
    const away = new ApiError(0, { code: "unreachable", message: `${this.base} does not answer: ${causeOf(error)}.` });
    if (!globalThis.location || this.readable || nameOf(error) !== "TypeError" || !(await this._isThere())) return away;
    // Not that of `location`, which Chromium gives a page from a file as "file://".
    const { origin } = globalThis;
    const listed = `Add ${origin} to STILLHERE_CORS_ORIGINS where it runs.`;
    const todo = origin === "null" ? "Serve this page by HTTP: a page from a file has no origin that could be listed." : listed;
    return new ApiError(0, { code: "origin_denied", message: `${this.base} does not let pages of this origin in. ${todo}` });
  }

  /**
   * A response that is read while it comes. Rejects with an `ApiError`, if it has no content too.
   * @param {string} path @param {AbortSignal} signal
   */
  async open(path, signal) {
    /** @type {Record<string, string>} */
    const headers = { Accept: "text/event-stream" };
    if (this.auth.key) headers.Authorization = `Bearer ${this.auth.key}`;
    if (this.account) headers[ACCOUNT] = this.account;
    let response;
    try {
      response = await fetch(`${this.base}/api/v1${path}`, { headers, ...this.asPage, signal });
    } catch (error) {
      throw await this._unanswered(error);
    }
    if (response.status === 200) return response;
    this._read(response, await response.text().catch(() => ""));
    throw new ApiError(404, { code: "nothing_streams", message: "Nothing streams there." });
  }

  async _isThere() {
    /** @type {RequestInit} */
    const asked = { method: "HEAD", credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(PROBE_MS) };
    return fetch(`${this.base}/static/js/stillhere.js`, asked).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** @template T @param {Response} response @param {string} text @returns {Answer<T>} */
  _read(response, text) {
    const json = /\bjson\b/.test(response.headers.get("Content-Type") ?? "");
    if (text && !json && (response.ok || ELSEWHERE.has(response.status))) {
      const message = `The server at ${this.base} (${response.status}) is not Stillhere. Check \`baseUrl\`.`;
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

  /** @template T @param {string} path @returns {Promise<T>} */
  get(path) {
    const answer = /** @type {Promise<Answer<T>>} */ (this.request("GET", path));
    return answer.then(({ body }) => body);
  }

  /**
   * Saves sent by `sendBeacon` on unload. Credentials are in the body, because a beacon cannot have headers.
   * @param {string} session @param {EntryBody} body @param {string | undefined} flushToken
   */
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

  /** @param {string} project @param {string} ticket "" for the login cookie @param {number | null} since */
  socketUrl(project, ticket, since) {
    const url = new URL(`${this.base}/ws/events/`);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("project", project);
    if (ticket) url.searchParams.set("ticket", ticket);
    if (since !== null) url.searchParams.set("since", `${since}`);
    return url.href;
  }
}

/**
 * In Node the error of `fetch` says nothing, but its cause does: one error, or one for each address that the name has.
 * @param {unknown} error @returns {string}
 */
function causeOf(error) {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof AggregateError) return error.cause.errors.map(causeOf).join(", ");
  return error.cause instanceof Error ? causeOf(error.cause) : error.message || error.name;
}

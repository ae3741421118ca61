/**
 * The service worker. It keeps the static files of one version, and pages of that version for one account. Pages come from the
 * server first and from here without it; files of the version come from here. Requests of the API are never touched.
 *
 * `STILLHERE` (the version and the addresses of the modules) is written above this script by the server.
 */

/** @import { WorkerEvent, WorkerScope } from "./worker-types.js" */

const worker = /** @type {WorkerScope} */ (/** @type {unknown} */ (self));
const { version: VERSION, files: FILES } = STILLHERE;
const SHELL = `stillhere-shell-${VERSION}`;
const PAGES = `stillhere-pages-${VERSION}`;
const ACCOUNT = "stillhere-account";
const PAGES_OF_ANY = "stillhere-pages-";
const OFFLINE = "/offline/";
const CHAT = "/chat/";
const SESSION = /^\/sessions\/[0-9a-f-]{36}\/$/;
const NOT_OURS = /^\/(?:api|admin|static)\//;
const HASHED = /\.[0-9a-f]{12}\.\w+$/;
const NAMED_FILES = /(?:href|src)="(\/static\/[^"]+)"/g;
const PATIENCE_MS = 3000;
const REPLACED_MS = 1000;
const REPLACED_TRIES = 10;
const MOST_PAGES = 50;
const MOST_CLIENTS = 100;

/** Pages of this version, by client: the files of this version are theirs. @type {Set<string>} */
const own = new Set();
/** Pages of another version: a file of this one would break them. @type {Set<string>} */
const foreign = new Set();

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("message", (event) => event.waitUntil(told(event.data)));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== location.origin) return;
  if (request.mode === "navigate") navigated(event, url);
  else if (request.method === "GET" && url.pathname.startsWith("/static/")) event.respondWith(file(event, url));
});

// Installing and replacing.

async function install() {
  try {
    await load();
  } catch (error) {
    await caches.delete(SHELL);
    throw error;
  }
  await replaceFormer();
}

/**
 * Not once only: a browser may start the former worker again at that moment, for a request of a page, and then let it go on for
 * minutes.
 */
async function replaceFormer(again = REPLACED_TRIES) {
  await worker.skipWaiting();
  if (again > 0) setTimeout(replaceFormer, REPLACED_MS, again - 1);
}

/** All files, or none: the page at the end says whether they were of one version. */
async function load() {
  const shell = await caches.open(SHELL);
  await shell.addAll(FILES.map((address) => new Request(address, { cache: "no-cache" })));
  const reply = await fetch(OFFLINE, { cache: "no-store", credentials: "omit" });
  if (!isOwn(reply)) throw new Error("The server has another version meanwhile.");
  await keep(shell, OFFLINE, reply);
  for (const name of await pageCaches()) if (name !== PAGES) await renew(name);
}

/** Pages of an older version are read again in this one. @param {string} name of their cache */
async function renew(name) {
  const requests = await (await caches.open(name)).keys();
  for (const { url } of requests) await readAndKeep(url).catch(() => {});
}

async function activate() {
  const former = (await caches.keys()).filter((name) => /^stillhere-(?:shell|pages)-/.test(name));
  await Promise.all(former.filter((name) => name !== SHELL && name !== PAGES).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

// Pages.

/** @param {WorkerEvent} event @param {URL} url */
function navigated(event, url) {
  if (event.request.method !== "GET") {
    if (url.pathname === "/logout/") event.waitUntil(empty());
    return;
  }
  if (!NOT_OURS.test(url.pathname)) event.respondWith(page(event, url));
}

/** From the server; without it, or if it is slow, from here. @param {WorkerEvent} event @param {URL} url */
async function page(event, url) {
  const { request, resultingClientId: client } = event;
  const asked = fetch(request).then(async (reply) => {
    await learn(reply, url);
    return reply;
  });
  event.waitUntil(asked.catch(() => {}));
  const kept = keyOf(url) ? await find(PAGES, keyOf(url)) : undefined;
  const answer = await (kept ? Promise.race([asked, late()]) : asked).catch(() => null);
  const shown = answer && !(kept && answer.status >= 500) ? answer : (kept ?? (await offlinePage()));
  remember(client, shown);
  return shown;
}

/**
 * Never makes a cache: a worker that is being replaced would leave an empty one behind.
 * @param {string} cacheName @param {RequestInfo} request @param {CacheQueryOptions} [options]
 */
const find = (cacheName, request, options) => caches.match(request, { cacheName, ...options });

const late = () => new Promise((_, reject) => setTimeout(reject, PATIENCE_MS, new Error("slow")));

async function offlinePage() {
  return (await find(SHELL, OFFLINE)) ?? Response.error();
}

/** @param {string} client @param {Response} reply */
function remember(client, reply) {
  const kind = isOwn(reply) ? own : foreign;
  kind.add(client);
  if (kind.size > MOST_CLIENTS) kind.delete(/** @type {string} */ (kind.values().next().value));
}

/** @param {Response} reply */
const isOwn = (reply) => reply.headers.get("Stillhere-Version") === VERSION;

/** Whose page it is, whether there is a new version, and the page itself. @param {Response} reply @param {URL} url */
async function learn(reply, url) {
  const account = reply.headers.get("Stillhere-Account");
  if (account === null) return;
  await belongTo(account);
  if (!isOwn(reply)) return void worker.registration.update().catch(() => {});
  const key = keyOf(url);
  if (!key || (url.search && url.pathname !== CHAT)) return;
  const pages = await caches.open(PAGES);
  if (!reply.ok) await pages.delete(key);
  else if (account !== "none") {
    await keep(pages, key, reply.clone());
    const oldest = (await pages.keys()).slice(0, -MOST_PAGES);
    await Promise.all(oldest.map((request) => pages.delete(request)));
  }
}

/** The address under which a page is kept; "" for pages that are not. @param {URL} url */
function keyOf({ pathname, search }) {
  if (pathname === CHAT) return pathname + search;
  return SESSION.test(pathname) ? pathname : "";
}

/** Keeps a page with the files that it names. @param {Cache} cache @param {string} key @param {Response} reply */
async function keep(cache, key, reply) {
  const html = await reply.clone().text();
  const shell = await caches.open(SHELL);
  const named = [...html.matchAll(NAMED_FILES)].map(([, address]) => address);
  const missing = await Promise.all(named.map(async (address) => ((await shell.match(address)) ? [] : [address])));
  await shell.addAll([...new Set(missing.flat())].map((address) => new Request(address, { cache: "no-cache" })));
  await cache.put(key, reply);
}

// Accounts: what is kept belongs to one.

/** @param {string} account */
async function belongTo(account) {
  const store = await caches.open(ACCOUNT);
  const known = await (await store.match("/account"))?.text();
  if (known === account) return;
  await empty();
  await store.put("/account", new Response(account));
}

async function pageCaches() {
  return (await caches.keys()).filter((name) => name.startsWith(PAGES_OF_ANY));
}

async function empty() {
  await Promise.all((await pageCaches()).map((name) => caches.delete(name)));
}

// Static files.

/** @param {WorkerEvent} event @param {URL} url */
async function file({ request, clientId }, { pathname }) {
  const kept = await find(SHELL, request, { ignoreVary: true });
  if (kept && (own.has(clientId) || HASHED.test(pathname))) return kept;
  try {
    // A page of another version must not get what the browser still has of this one.
    return await fetch(request, foreign.has(clientId) ? { cache: "no-cache" } : {});
  } catch (error) {
    if (kept && !foreign.has(clientId)) return kept;
    throw error;
  }
}

// What pages say.

/** @param {{type: string, url?: string}} message */
async function told({ type, url }) {
  if (type === "keep" && url) await readAndKeep(url).catch(() => {});
  else if (type === "empty") await empty();
}

/** @param {string} address */
async function readAndKeep(address) {
  const url = new URL(address);
  if (keyOf(url)) await learn(await fetch(url, { credentials: "same-origin", redirect: "manual" }), url);
}

/** The page without a connection: which pages this browser has. */
import { byId } from "../../pages/elements.js";

const PAGES = "stillhere-pages-";

/** `[address, title]` of the pages that the service worker keeps, the newest first. @returns {Promise<[string, string][]>} */
async function stored() {
  const names = (await caches.keys()).filter((name) => name.startsWith(PAGES));
  const lists = await Promise.all(names.map(async (name) => pagesIn(await caches.open(name))));
  return lists.flat().reverse();
}

/** @param {Cache} cache @returns {Promise<[string, string][]>} */
async function pagesIn(cache) {
  const requests = await cache.keys();
  return Promise.all(
    requests.map(async (request) => {
      const html = (await (await cache.match(request))?.text()) ?? "";
      const { title } = new DOMParser().parseFromString(html, "text/html");
      return /** @type {[string, string]} */ ([request.url, title.replace(/ · Stillhere$/, "")]);
    }),
  );
}

const pages = "caches" in globalThis ? await stored().catch(() => []) : [];
byId("stored", HTMLElement).hidden = pages.length === 0;
const items = pages.map(([href, title]) => {
  const item = document.createElement("li");
  item.append(Object.assign(document.createElement("a"), { href, textContent: title }));
  return item;
});
byId("stored-pages", HTMLElement).append(...items);
byId("try-again", HTMLAnchorElement).href = location.href;
addEventListener("online", () => location.reload());

/** Where a client asks, for which project and by which key. What is not given is taken from the environment. */

const KEY = /^[\x20-\x7e]+$/;
const PLACEHOLDER = /(…|\.{3})$/;

/** @param {{url?: string, key?: string, project?: string}} given */
export function settingsOf({ url, key, project }) {
  return {
    url: checkedUrl(setting("url", url, "STILLHERE_URL")),
    key: checkedKey(setting("key", key, "STILLHERE_KEY")),
    project: projectName(setting("project", project?.trim(), "STILLHERE_PROJECT")),
  };
}

/**
 * One folder is one project: a path that begins with `/` has no empty parts, `.` and `..`, and no `/` at its end. Another name, or
 * an id, stays as it is, without blanks around it. @param {string} given
 */
export function projectName(given) {
  const named = given.trim();
  if (!named.startsWith("/")) return named;
  /** @type {string[]} */
  const parts = [];
  for (const part of named.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** `fetch` would say so of a header, as if the server were away. @param {string} key */
export function checkedKey(key) {
  if (PLACEHOLDER.test(key))
    throw new TypeError("`key` is the placeholder. `make run` prints a key, and the page /keys/ makes some.");
  if (!KEY.test(key)) throw new TypeError("`key` has a line break, or characters that no key has.");
  return key;
}

/** @param {string} url */
function checkedUrl(url) {
  const wrong = new TypeError(`\`url\` begins with http:// or https:// and a name, and has no query: ${url}`);
  let parsed;
  try {
    parsed = new URL(url, globalThis.location?.href);
  } catch {
    throw wrong;
  }
  if (!/^https?:$/.test(parsed.protocol) || parsed.search) throw wrong;
  return url;
}

/** @param {string} name @param {string | undefined} given @param {string} variable @returns {string} */
function setting(name, given, variable) {
  const value = given || /** @type {{process?: {env?: Record<string, string>}}} */ (globalThis).process?.env?.[variable];
  if (!value) throw new TypeError(`Pass \`${name}\`, or set ${variable}.`);
  return value;
}

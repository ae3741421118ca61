/**
 * Renders a growing text: fenced and inline code, and bold where the text is Markdown, which a user's is not. Everything else, above
 * all formulas, stays plain text until the server renders the message.
 */

const FENCED = /^```[^\n]*\n([\s\S]*?)(?:^```[^\S\n]*(?:\n|$(?![\s\S]))|$(?![\s\S]))/gm;
const FORMULA = /\$\$[^$]+\$\$|\$[^$\s](?:[^$\n]*[^$\s])?\$|\\\([^\n]{0,2000}?\\\)|\\\[[\s\S]{0,2000}?\\\]/;
const MARKED = new RegExp(`${FORMULA.source}|\`([^\`\\n]+)\`|\\*\\*([^*\\n]+)\\*\\*`, "g");
/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();

/**
 * Make `box` show `text`. Unchanged blocks are not touched, so that a selection is kept while it streams.
 * @param {Element} box @param {string} text @param {{bold: boolean}} options
 */
export function show(box, text, { bold }) {
  const blocks = [...split(text)];
  blocks.forEach(({ code, source }, at) => {
    const standing = box.children[at];
    if (standing && shown.get(standing) === source && (standing.nodeName === "PRE") === code) return;
    const fresh = code ? pre(source) : paragraph(source, bold);
    shown.set(fresh, source);
    if (standing) standing.replaceWith(fresh);
    else box.append(fresh);
  });
  while (box.children.length > blocks.length) box.lastElementChild?.remove();
}

/** @param {string} text */
function* split(text) {
  let end = 0;
  for (const fence of text.matchAll(FENCED)) {
    yield* prose(text.slice(end, fence.index));
    yield { code: true, source: fence[1].replace(/\n$/, "") };
    end = fence.index + fence[0].length;
  }
  yield* prose(text.slice(end));
}

/** @param {string} text */
function* prose(text) {
  for (const source of text.split(/\n{2,}/)) if (source.trim()) yield { code: false, source: source.replace(/^\n+|\n+$/g, "") };
}

/** @param {string} source */
function pre(source) {
  const block = element("pre");
  block.tabIndex = 0;
  block.append(element("code", source));
  return block;
}

/** @param {string} source @param {boolean} bold */
function paragraph(source, bold) {
  const block = element("p");
  let end = 0;
  for (const mark of source.matchAll(MARKED)) {
    block.append(source.slice(end, mark.index), marked(mark, bold));
    end = mark.index + mark[0].length;
  }
  block.append(source.slice(end));
  return block;
}

/** @param {RegExpExecArray} mark @param {boolean} bold */
function marked([source, code, strong], bold) {
  if (code) return element("code", code);
  return strong && bold ? element("strong", strong) : source;
}

/** @param {string} name */
function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

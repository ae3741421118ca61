/** The little Markdown that a chat cannot do without (fenced and inline code, bold), as elements: text stays text. */

const FENCED = /^```[^\n]*\n([\s\S]*?)(?:^```[^\S\n]*(?:\n|$(?![\s\S]))|$(?![\s\S]))/gm;
const MARKED = /`([^`\n]+)`|\*\*([^*\n]+)\*\*/g;
const shown = new WeakMap();

/** Make `box` show `text`. Blocks that did not change are not touched, so that a selection outlives the stream. */
export function show(box, text) {
  const blocks = [...split(text)];
  blocks.forEach(({ code, source }, at) => {
    const standing = box.children[at];
    if (standing && shown.get(standing) === source && (standing.nodeName === "PRE") === code) return;
    const fresh = code ? pre(source) : paragraph(source);
    shown.set(fresh, source);
    if (standing) standing.replaceWith(fresh);
    else box.append(fresh);
  });
  while (box.children.length > blocks.length) box.lastChild.remove();
}

function* split(text) {
  let end = 0;
  for (const fence of text.matchAll(FENCED)) {
    yield* prose(text.slice(end, fence.index));
    yield { code: true, source: fence[1].replace(/\n$/, "") };
    end = fence.index + fence[0].length;
  }
  yield* prose(text.slice(end));
}

function* prose(text) {
  for (const source of text.split(/\n{2,}/)) if (source.trim()) yield { code: false, source: source.replace(/^\n+|\n+$/g, "") };
}

function pre(source) {
  const block = element("pre");
  block.tabIndex = 0;
  block.append(element("code", source));
  return block;
}

function paragraph(source) {
  const block = element("p");
  let end = 0;
  for (const mark of source.matchAll(MARKED)) {
    block.append(source.slice(end, mark.index), mark[1] ? element("code", mark[1]) : element("strong", mark[2]));
    end = mark.index + mark[0].length;
  }
  block.append(source.slice(end));
  return block;
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

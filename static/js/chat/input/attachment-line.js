/** A file that is attached, as it is shown. Loaded when there is one. */

/**
 * @typedef {{line: HTMLLIElement, progress: HTMLProgressElement, problem: HTMLElement, retry: HTMLButtonElement,
 *   remove: HTMLButtonElement}} Line
 */

/** @param {File} file @returns {Line} */
export function lineOf(file) {
  const line = document.createElement("li");
  const name = Object.assign(document.createElement("strong"), { textContent: file.name });
  const size = Object.assign(document.createElement("span"), { className: "hint number", textContent: sizeOf(file.size) });
  const progress = Object.assign(document.createElement("progress"), { max: 1, value: 0 });
  progress.setAttribute("aria-label", `Upload of ${file.name}`);
  const problem = Object.assign(document.createElement("span"), { className: "problem" });
  const retry = button("Try again", file.name);
  const remove = button("Remove", file.name);
  remove.classList.add("push");
  line.append(name, size, progress, problem, retry, remove);
  return { line, progress, problem, retry, remove };
}

/** @param {string} label @param {string} name */
function button(label, name) {
  const made = Object.assign(document.createElement("button"), {
    type: "button",
    className: "button small quiet",
    textContent: label,
  });
  made.append(Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: ` ${name}` }));
  return made;
}

/** As the server shows it in the message (`sessions_app/core/web/template_tags/formatting.py`). @param {number} bytes */
function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 999_500 ? [bytes / 1000, "KB"] : [bytes / 1_000_000, "MB"];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

/**
 * A form whose value is JSON: invalid JSON is not sent, and the place of the error is shown. Neither is one that is too large for a
 * request: a page in place of this one would say so, and what was written would be gone.
 */

import { count } from "../pages/counts.js";
import { all, one } from "../pages/elements.js";
import { faultAt } from "./json-fault.js";

const WAIT_MS = 400;
/* Of a request, besides the value: names of fields, namespace and key. */
const OTHERS_BYTES = 10_000;
/** @typedef {{message: string, at: number}} Fault */

/** @param {string} text @returns {Fault | null} */
function fault(text) {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const at = faultAt(text) ?? text.length;
    const lines = text.slice(0, at).split("\n");
    return {
      message: `This is not valid JSON yet: look at line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}.`,
      at,
    };
  }
}

/** @param {string} text @param {number} most of a request @returns {Fault | null} */
function excess(text, most) {
  // Forms are sent with line ends of two characters.
  const bytes = new Blob([text.replaceAll("\n", "\r\n")]).size;
  if (bytes + OTHERS_BYTES <= most) return null;
  return { message: `This has ${count(bytes)} bytes, which is too much for a form. Make it smaller.`, at: 0 };
}

/** @param {HTMLElement} form */
function setUp(form) {
  const field = one(form, "textarea", HTMLTextAreaElement);
  const place = one(document, `#${field.getAttribute("aria-describedby")}`, HTMLElement);
  let timer = 0;

  /** @param {Fault | null} found */
  function show(found) {
    const message = found?.message ?? "";
    if (place.textContent !== message) place.textContent = message;
    if (found) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => show(fault(field.value)), WAIT_MS);
  });
  form.addEventListener("submit", (event) => {
    clearTimeout(timer);
    const found = excess(field.value, Number(form.dataset.most)) ?? fault(field.value);
    if (!found) return;
    event.preventDefault();
    show(found);
    // A field scrolls to its caret when it gets the focus, not before.
    field.blur();
    field.setSelectionRange(found.at, found.at);
    field.focus();
  });
}

for (const form of all(document, "[data-json-editor]")) setUp(form);

/** A form whose value is JSON: what cannot be read is not sent, and the place where it goes wrong is shown. */

const WAIT_MS = 400;

/** Where the browser says that it stopped reading: the words, and the place in the text if it names one. */
function fault(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const named = /position (\d+)/.exec(error.message);
    const at = named ? Number(named[1]) : /end of JSON/.test(error.message) ? text.length : null;
    if (at === null) return { message: error.message, at };
    const lines = text.slice(0, at).split("\n");
    return { message: `This is no JSON yet: look at line ${lines.length}, column ${lines.at(-1).length + 1}.`, at };
  }
}

function setUp(form) {
  const field = form.querySelector("textarea");
  const place = document.getElementById(field.getAttribute("aria-describedby"));
  let timer = 0;

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
    const found = fault(field.value);
    if (!found) return;
    event.preventDefault();
    show(found);
    // A field is scrolled to where the caret stands when it gets the focus, not before.
    field.blur();
    if (found.at !== null) field.setSelectionRange(found.at, found.at);
    field.focus();
  });
}

document.querySelectorAll("[data-json-editor]").forEach(setUp);

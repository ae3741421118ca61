/** The same form is not sent again before it is answered: a double click makes one session, not two. */

// What was asked for may be a download, which leaves the page here.
const LONGEST_MS = 10_000;
/** What was sent, by form. @type {WeakMap<HTMLFormElement, string>} */
let sent = new WeakMap();

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
const contentOf = (form, submitter) =>
  [...new FormData(form, submitter)].map(([name, value]) => [name, typeof value === "string" ? value : value.name]).join("\n");

/** @param {Event} event */
const formOf = ({ target }) => (target instanceof HTMLFormElement && target.getAttribute("method") === "post" ? target : null);

document.addEventListener(
  "submit",
  (event) => {
    const form = formOf(event);
    if (!form || sent.get(form) !== contentOf(form, event.submitter)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);
/* After all others: one of them may send it in another way, or not at all. */
addEventListener("submit", (event) => {
  const form = formOf(event);
  if (!form || (event.defaultPrevented && !form.hasAttribute("hx-post"))) return;
  const content = contentOf(form, event.submitter);
  sent.set(form, content);
  setTimeout(() => sent.get(form) === content && sent.delete(form), LONGEST_MS);
});
document.body.addEventListener("htmx:afterRequest", ({ detail: { elt } }) => elt instanceof HTMLFormElement && sent.delete(elt));
addEventListener("pageshow", () => {
  sent = new WeakMap();
});

/** It was held back: it may be sent, or sent again. @param {HTMLFormElement} form */
export const release = (form) => sent.delete(form);

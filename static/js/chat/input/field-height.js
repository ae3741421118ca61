/**
 * A field that is as high as its text, up to the style sheet's `max-height`. `field-sizing` does that in browsers that know it; for
 * the others this does.
 */

const isKnown = () => CSS.supports("field-sizing", "content");

/** @param {HTMLTextAreaElement} field */
export function growWithText(field) {
  if (isKnown()) return;
  field.addEventListener("input", () => fit(field));
  let width = 0;
  new ResizeObserver(() => {
    if (field.clientWidth === width) return;
    width = field.clientWidth;
    // Not at once: an observer that changes what it observes is an error of the page.
    requestAnimationFrame(() => fit(field));
  }).observe(field);
}

/** After a change that nobody typed. @param {HTMLTextAreaElement} field */
export function fit(field) {
  const { form } = field;
  if (isKnown() || !form) return;
  // What is around it keeps its place while it is measured: a list of messages that grew for a moment would be scrolled.
  form.style.minHeight = `${form.offsetHeight}px`;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
  form.style.minHeight = "";
}

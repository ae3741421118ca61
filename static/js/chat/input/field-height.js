/**
 * A field that is as high as its text, up to the style sheet's `max-height`: for browsers without `field-sizing`, which does that.
 */

/** @param {HTMLTextAreaElement} field */
export function growWithText(field) {
  for (const kind of ["input", "change"]) field.addEventListener(kind, () => fit(field));
  let width = 0;
  new ResizeObserver(() => {
    if (field.clientWidth === width) return;
    width = field.clientWidth;
    // Not at once: an observer that changes what it observes is an error of the page.
    requestAnimationFrame(() => fit(field));
  }).observe(field);
}

/** @param {HTMLTextAreaElement} field */
function fit(field) {
  const { form } = field;
  if (!form) return;
  // What is around it keeps its place while it is measured: a list of messages that grew for a moment would be scrolled.
  form.style.minHeight = `${form.offsetHeight}px`;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
  form.style.minHeight = "";
}

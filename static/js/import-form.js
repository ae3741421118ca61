/**
 * The import page: a file is sent to the API unchanged, and the list of imports shows its progress. A file that is dropped anywhere
 * on the page is looked into; *Import this file* then sends it again, to be imported.
 */

import { SIGNED_OUT } from "./forms/login-token.js";
import { all, around, byId, focusOn, one } from "./pages/elements.js";
import { store, stored } from "./pages/stored.js";

const LOOK_MS = 1_000;
/* This browser's own files, by import: the server gets no names. */
const NAMES = "stillhere.import-files";
const MOST_NAMES = 50;
const GONE = "The upload failed: the server does not answer, or the file changed meanwhile. Send it again.";
const form = byId("import", HTMLFormElement);
const input = one(form, "input[type=file]", HTMLInputElement);
const token = one(form, "[name=csrfmiddlewaretoken]", HTMLInputElement);
const sending = byId("sending", HTMLElement);
const problem = byId("problem", HTMLElement);
/** @type {XMLHttpRequest | null} */
let request = null;
/** The chosen file, once it was looked into. @type {File | null} */
let seen = null;

input.addEventListener("change", () => {
  const file = input.files?.[0];
  seen = null;
  offer();
  const large = file !== undefined && file.size > Number(form.dataset.most);
  input.setCustomValidity(large ? "This file is too large for this server." : "");
  if (large) input.reportValidity();
});

/** @param {number} sent the share, from 0 to 1 */
function show(sent) {
  byId("sent", HTMLProgressElement).value = sent;
  byId("sent-words", HTMLElement).textContent = sent < 1 ? `${Math.floor(sent * 100)} % sent` : "Sent";
}

/** @param {boolean} disabled */
function setDisabled(disabled) {
  for (const button of form.querySelectorAll("button")) if (button.type === "submit") button.disabled = disabled;
}

/** Under what was found in the chosen file, and only there. */
function offer() {
  for (const button of all(document, "[data-import-this]")) button.hidden = seen === null || seen !== input.files?.[0];
}

/** Names by the ids of imports, the newest last. @returns {Map<string, string>} */
function names() {
  try {
    return new Map(JSON.parse(stored(NAMES) ?? "[]"));
  } catch {
    return new Map();
  }
}

/** @param {string} id of the import @param {string} name */
function keepName(id, name) {
  store(NAMES, JSON.stringify([...names().set(id, name)].slice(-MOST_NAMES)));
}

function showNames() {
  const known = names();
  for (const place of all(document, "[data-file-of]")) {
    const name = known.get(place.dataset.fileOf ?? "");
    if (!name || place.firstChild) continue;
    const own = document.createElement("bdi");
    own.textContent = name;
    own.title = name;
    place.append(own, " · ");
    place.hidden = false;
  }
}

function end(said = "") {
  request = null;
  sending.hidden = true;
  setDisabled(false);
  problem.textContent = said;
  look();
}

/** @param {XMLHttpRequest} xhr */
function refusal(xhr) {
  // The API's own words are for clients with keys.
  if (xhr.status === 401) return SIGNED_OUT;
  try {
    return String(JSON.parse(xhr.responseText).error.message);
  } catch {
    return `The server answered ${xhr.status}.`;
  }
}

/**
 * Not fetch, which does not report upload progress.
 * @param {File} file
 * @param {boolean} dryRun
 */
function send(file, dryRun) {
  const xhr = new XMLHttpRequest();
  request = xhr;
  xhr.open("POST", dryRun ? `${form.dataset.to}?dry_run=true` : `${form.dataset.to}`);
  xhr.setRequestHeader("Content-Type", "application/x-ndjson");
  xhr.setRequestHeader("X-CSRFToken", token.value);
  xhr.upload.addEventListener("progress", ({ loaded, total }) => show(total ? loaded / total : 1));
  xhr.addEventListener("load", () => {
    seen = dryRun && xhr.status === 202 ? file : null;
    if (xhr.status !== 202) return end(`${file.name}: ${refusal(xhr)}`);
    keepName(String(JSON.parse(xhr.responseText).id), file.name);
    end();
  });
  xhr.addEventListener("error", () => end(`${file.name}: ${GONE}`));
  xhr.addEventListener("abort", () => end());
  xhr.send(file);
  show(0);
  problem.textContent = "";
  sending.hidden = false;
  setDisabled(true);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const file = input.files?.[0];
  if (file && !request) send(file, event.submitter instanceof HTMLButtonElement && event.submitter.value === "look");
});

/** @param {DragEvent} event */
const brings = ({ dataTransfer }) => dataTransfer?.types.includes("Files") === true;

/** @param {DragEvent} event */
function over(event) {
  if (!brings(event)) return;
  event.preventDefault();
  form.classList.add("dropping");
}

/** Otherwise the browser would open the file in place of the page. @param {DragEvent} event */
function drop(event) {
  form.classList.remove("dropping");
  if (!brings(event)) return;
  event.preventDefault();
  const files = event.dataTransfer?.files;
  if (!files || request) return;
  if (files.length !== 1) {
    problem.textContent = "Drop one file at a time.";
    return;
  }
  input.files = files;
  input.dispatchEvent(new Event("change"));
  form.requestSubmit(one(form, "[value=look]", HTMLButtonElement));
}

document.addEventListener("dragenter", over);
document.addEventListener("dragover", over);
document.addEventListener("dragleave", ({ relatedTarget }) => {
  if (!relatedTarget) form.classList.remove("dropping");
});
document.addEventListener("drop", drop);
document.addEventListener("click", (event) => {
  if (around(event, "[data-import-this]")) one(form, "[value=import]", HTMLButtonElement).click();
});
byId("cancel", HTMLElement).addEventListener("click", () => request?.abort());
window.addEventListener("beforeunload", (event) => {
  if (request) event.preventDefault();
});

/** The present list: htmx replaces it. */
const imports = () => byId("imports", HTMLElement);

/** htmx updates the list. */
function look() {
  imports().dispatchEvent(new Event("look"));
}

setInterval(() => {
  if (!document.hidden && "active" in imports().dataset) look();
}, LOOK_MS);
document.body.addEventListener("changed", look);
/* A button that was pressed is gone once its import has ended: the focus stays at that import. */
let focused = "";
document.body.addEventListener("htmx:beforeSwap", () => {
  focused = document.activeElement?.closest("#imports article")?.id ?? "";
});
document.body.addEventListener("htmx:load", () => {
  offer();
  showNames();
  if (focused && document.activeElement === document.body) focusOn(document.getElementById(focused));
});

import { toast } from "./toasts.js";

/** @param {HTMLElement} source what to take the words from */
export async function copyText(source) {
  if (await written(source.innerText.trim())) return toast("Copied.");
  getSelection()?.selectAllChildren(source);
  return toast("Selected. Copy it with your keyboard.");
}

/** @param {string} text */
export async function copyWords(text) {
  if (await written(text)) toast("Copied.");
  else toast("This browser does not let pages copy. Select the text instead.", { error: true });
}

/** Copy the response of an address. @param {string} address @param {string} otherwise what to do where that fails */
export async function copyFrom(address, otherwise) {
  const reading = read(address);
  const isWritten = writtenLater(reading);
  let text;
  try {
    text = await reading;
  } catch {
    return toast(otherwise, { error: true });
  }
  return (await isWritten) ? toast("Copied.") : copyWords(text);
}

/** @param {string} address */
async function read(address) {
  const reply = await fetch(address);
  if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
  return reply.text();
}

/**
 * Safari takes what is copied during a click only. So the clipboard gets a text that is still being read.
 * @param {Promise<string>} text
 */
async function writtenLater(text) {
  const words = text.then((read) => new Blob([read], { type: "text/plain" }));
  words.catch(() => {}); // Its reader says so.
  try {
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": words })]);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} text */
async function written(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedByCommand(text);
  }
}

/** Without HTTPS scripts have no clipboard API; text selected in a field can still be copied. @param {string} text */
function copiedByCommand(text) {
  const former = document.activeElement;
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (former instanceof HTMLElement) former.focus();
  return copied;
}

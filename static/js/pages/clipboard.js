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
  const text = read(address);
  try {
    // In Safari it has to begin during the click, so the clipboard gets a text that is still being read.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": text.then(plain) })]);
  } catch {
    return text.then(copyWords, () => toast(otherwise, { error: true }));
  }
  return toast("Copied.");
}

/** @param {string} address */
async function read(address) {
  const reply = await fetch(address);
  if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
  return reply.text();
}

/** @param {string} text */
const plain = (text) => new Blob([text], { type: "text/plain" });

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

import { toast } from "./toasts.js";

/** @param {Element} source what to take the words from */
export async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.innerText.trim());
    toast("Copied.");
  } catch {
    getSelection().selectAllChildren(source);
    toast("Selected. Copy it with your keyboard.");
  }
}

/** Files for messages: uploaded once, then named by a part of a message as `file`. */
import { ApiError } from "./http.js";

/**
 * @import { StoredFile, UploadOptions } from "../../stillhere.js"
 * @import { Http } from "./http.js"
 */

/**
 * Not fetch, which does not report upload progress.
 * @param {Http} http @param {string} session @param {Blob} file @param {UploadOptions} options
 * @returns {Promise<StoredFile>} rejects with an `ApiError`
 */
export function uploadFile(http, session, file, { name, onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const named = name ?? (file instanceof File ? file.name : "");
    xhr.open("POST", `${http.base}/api/v1/sessions/${session}/files?name=${encodeURIComponent(named.toWellFormed?.() ?? named)}`);
    xhr.setRequestHeader("Accept", "application/json");
    xhr.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    if (http.auth.key) xhr.setRequestHeader("Authorization", `Bearer ${http.auth.key}`);
    else xhr.setRequestHeader("X-CSRFToken", http.csrf());
    xhr.upload.addEventListener("progress", ({ loaded, total }) => onProgress?.(total ? loaded / total : 1));
    const failed = (/** @type {string} */ code, /** @type {string} */ message) => () =>
      reject(new ApiError(0, { code, message }));
    xhr.addEventListener("error", failed("unreachable", "The server does not answer, or the file changed meanwhile."));
    xhr.addEventListener("abort", failed("aborted", "The upload was stopped."));
    xhr.addEventListener("load", () => {
      const answer = read(xhr);
      if (answer instanceof ApiError) reject(answer);
      else resolve(answer);
    });
    if (signal?.aborted) return failed("aborted", "The upload was stopped.")();
    signal?.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(file);
  });
}

/** @param {XMLHttpRequest} xhr @returns {StoredFile | ApiError} */
function read(xhr) {
  let content = null;
  try {
    content = JSON.parse(xhr.responseText);
  } catch {
    // Not Stillhere's answer.
  }
  if (xhr.status < 300 && content?.file) return content;
  const retryAfter = Number(xhr.getResponseHeader("Retry-After")) || 0;
  return new ApiError(xhr.status, content?.error ?? { code: "error", message: `The server answered ${xhr.status}.` }, retryAfter);
}

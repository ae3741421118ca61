/** The project's handoff, in the form that a resume returns. */

/**
 * @import { Handoff, HandoffContent } from "../../stillhere.js"
 * @import { Http } from "./http.js"
 *
 * @typedef {Handoff["live"] & {last_snapshot: number | null}} Live
 * @typedef {{number: number, sha256: string, payload: HandoffContent}} Snapshot
 */

/** @param {Pick<Http, "get">} http @param {string | undefined} project its id @param {string} path @returns {Promise<Handoff | null>} */
export async function readHandoff(http, project, path) {
  const id = project ?? (await projectId(http, path));
  if (!id) return null;
  /** @type {Live} */
  const live = await http.get(`/projects/${id}/handoff`);
  if (live.rev === 0) return null;
  if (!live.last_snapshot) return { live, frozen: live.decisions.length > 0 ? { derived: true, payload: live } : null };
  /** @type {Snapshot} */
  const { number, sha256, payload } = await http.get(`/projects/${id}/handoff/snapshots/${live.last_snapshot}`);
  return { live, frozen: { number, sha256, payload } };
}

/** A project can have a handoff without a session. @param {Pick<Http, "get">} http @param {string} path */
export async function projectId(http, path) {
  /** @type {{items: {id: string}[]}} */
  const { items } = await http.get(`/projects?path=${encodeURIComponent(path)}`);
  return items[0]?.id;
}

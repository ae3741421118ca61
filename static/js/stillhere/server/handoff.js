/** The project's handoff, in the form that a resume returns. */
import { ApiError } from "./http.js";

/**
 * @import { Handoff, HandoffContent } from "../../stillhere.js"
 * @import { Http } from "./http.js"
 *
 * @typedef {Handoff["live"] & {last_snapshot: number | null}} Live
 * @typedef {{number: number, sha256: string, payload: HandoffContent}} Snapshot
 */

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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

/** A project can have a handoff without a session. @param {Pick<Http, "get">} http @param {string} project its path or id */
export async function projectId(http, project) {
  /** @type {{items: {id: string}[]}} */
  const { items } = await http.get(`/projects?path=${encodeURIComponent(project)}`);
  return items[0]?.id ?? (ID.test(project) ? knownId(http, project) : undefined);
}

/** @param {Pick<Http, "get">} http @param {string} id @returns {Promise<string | undefined>} */
const knownId = (http, id) =>
  http.get(`/projects/${id}`).then(
    () => id,
    (error) => {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    },
  );

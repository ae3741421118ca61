/** How transcripts are called here: as the Python package calls them, so that both read each other's. */
import { createHash, randomUUID } from "node:crypto";
import { asciiJson } from "./long-objects.js";

/** @typedef {{projectKey: string, sessionId: string, subpath?: string}} Key */

export const TAG = "claude-agent";
export const SUBAGENT_TAG = "claude-subagent";
const LONGEST_EXTERNAL_ID = 128;
const LONGEST_ID = 56;
const OID_NAMESPACE = "6ba7b8129dad11d180b400c04fd430c8";

/** @param {string[]} names */
const hashOf = (names) =>
  createHash("sha256")
    .update(`[${names.map(asciiJson).join(", ")}]`)
    .digest("hex")
    .slice(0, 40);

/** @param {Key} key */
const namesOf = ({ projectKey, sessionId, subpath }) => [projectKey, sessionId, ...(subpath ? [subpath] : [])];

/** @param {Key} key */
export function externalIdOf(key) {
  const names = namesOf(key);
  const readable = `${TAG}:[${names.map((name) => JSON.stringify(name)).join(", ")}]`;
  return [...readable].length <= LONGEST_EXTERNAL_ID ? readable : `${TAG}:sha256:${hashOf(names)}`;
}

/** @param {string} projectKey */
export const ofProject = (projectKey) => `project:${hashOf([projectKey])}`;

/** @param {Key} key */
export const ofSession = ({ projectKey, sessionId }) => `of:${hashOf([projectKey, sessionId])}`;

/** A namespace of its own: what the SDK folds differs from what the Python one does. @param {string} projectKey */
export const summariesOf = (projectKey) => [TAG, "js", hashOf([projectKey])];

/** The fields of a session that is created. @param {Key} key */
export function openingOf(key) {
  const { projectKey, sessionId, subpath } = key;
  const own = { project_key: projectKey, session_id: sessionId, ...(subpath ? { subpath } : {}) };
  const tags = subpath ? [SUBAGENT_TAG, ofSession(key)] : [TAG, ofProject(projectKey)];
  return { metadata: { [TAG]: own }, tags, current: false };
}

/**
 * Whether it is a transcript: a copy that a person made of one has its metadata and tags.
 * @param {{metadata: Record<string, any>, external_id?: string}} session
 */
export function isTranscript({ metadata, external_id }) {
  const { project_key: projectKey, session_id: sessionId, subpath } = metadata[TAG] ?? {};
  if (typeof projectKey !== "string" || typeof sessionId !== "string") return false;
  return externalIdOf({ projectKey, sessionId, subpath }) === external_id;
}

/** A message's id for an entry. @param {{uuid?: unknown}} entry */
export function idOf({ uuid }) {
  if (typeof uuid !== "string" || !uuid) return randomUUID();
  return [...uuid].length <= LONGEST_ID ? uuid : uuid5(uuid);
}

/** @param {string} name */
function uuid5(name) {
  const bytes = createHash("sha1").update(Buffer.from(OID_NAMESPACE, "hex")).update(name).digest().subarray(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x50;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

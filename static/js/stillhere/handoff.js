/** What the project hands over, in the shape in which a resume brings it. */

/** @param {import("./link.js").Link} link */
export async function readHandoff(link) {
  const project = link.session?.project_id ?? (await projectId(link));
  if (!project) return null;
  const live = await link.http.get(`/projects/${project}/handoff`);
  if (live.rev === 0) return null;
  if (!live.last_snapshot) return { live, frozen: live.decisions.length > 0 ? { derived: true, payload: live } : null };
  const { number, sha256, payload } = await link.http.get(`/projects/${project}/handoff/snapshots/${live.last_snapshot}`);
  return { live, frozen: { number, sha256, payload } };
}

/** A project may hand over without having a session. */
async function projectId({ http, project }) {
  const { items } = await http.get(`/projects?path=${encodeURIComponent(project)}`);
  return items[0]?.id;
}

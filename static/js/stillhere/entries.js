/** The requests that a page makes of what was said: what stands in them is sent as it is, however often. */

const REQUEST_CHARACTERS = 1_000_000;
const REQUEST_OPS = 200;

const common = (link, session) => ({ at: Date.now(), scope: link.scope, session, writer: link.writer });

/** A request that carries the writer's next number. */
export function step(link, kind, method, path, body) {
  const seq = (link.seq += 1);
  const numbered = { ...body, writer_id: link.writer, seq };
  return { kind, method, path, body: numbered, seq, ...common(link, link.session?.id ?? link.provisional) };
}

/** A session under an id of our own; the project is made if need be. */
export function creation(link, id) {
  const body = { project: link.project, ...(link.step ? { opening_step: link.step } : {}) };
  const headers = { "If-None-Match": "*" };
  return { kind: "create", method: "PUT", path: `/sessions/${id}`, body, headers, seq: 0, ...common(link, id) };
}

/** A save without its number. */
export function draft(link, operations) {
  const id = link.session?.id ?? link.provisional;
  const ops = operations.map((op) => ({ ...op, if_ver: op.if_ver ?? link.book.verOf(op.id) }));
  const body = { epoch: link.epoch, writer_id: link.writer, base_rev: link.baseRev, ops };
  if (link.step !== null) body.opening_step = link.step;
  return { kind: "changes", method: "POST", path: `/sessions/${id}/changes`, body, ...common(link, id) };
}

/** As much of what is due as fits into one request, the oldest first. */
export function takeDirty(link, characters = REQUEST_CHARACTERS) {
  const taken = [];
  let size = 0;
  for (const operation of link.dirty.values()) {
    size += JSON.stringify(operation).length;
    if (taken.length > 0 && (size > characters || taken.length >= REQUEST_OPS)) break;
    taken.push(operation);
  }
  for (const { id } of taken) link.dirty.delete(id);
  const request = draft(link, taken);
  link.step = null;
  const seq = (link.seq += 1);
  return { ...request, seq, body: { ...request.body, seq } };
}

/** Messages with unsent operations of the same session and epoch applied. */
export function applied(messages, entries, session) {
  const shown = new Map(messages.map((message) => [message.id, message]));
  for (const entry of entries) {
    if (session && (entry.session !== session.id || (entry.body.epoch ?? 1) !== session.epoch)) continue;
    for (const { op, if_ver: _, ...message } of entry.body.ops ?? []) {
      if (op === "delete") shown.delete(message.id);
      else if (op === "upsert") {
        const parts = message.parts ?? [{ type: "text", text: message.text }];
        shown.set(message.id, { ...shown.get(message.id), ...message, parts });
      }
    }
  }
  return [...shown.values()];
}

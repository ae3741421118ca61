/** What the server's answers mean for the page that asked. */
import { textOf } from "./book.js";

/** An answer to a request of this scope, whichever tab sent it; of other tabs' requests only news matter. */
export function takeAnswer(link, entry, status, body, dropped = []) {
  const own = link.waiting.find((one) => one.key === entry.key);
  if (own) {
    own.done = true;
    link.waiting = link.waiting.filter((one) => one !== own);
  }
  if (body?.error?.code === "stale_epoch") staleEpoch(link, entry, own, dropped, body.error.details.epoch);
  else if (entry.session !== link.session?.id) elsewhere(link, entry, body);
  else if (own) taken(link, entry, status, body);
  else report(link, entry, body);
  link.stash();
  link.resolvers.get(entry.key)?.(body?.error ? null : (body ?? {}));
  link.resolvers.delete(entry.key);
  link.goOn();
}

function elsewhere(link, entry, body) {
  report(link, entry, body);
  if (entry.kind === "create") link.reader.begun();
}

export function takeRefusal(link, entry) {
  const own = link.waiting.find((one) => one.key === entry.key);
  if (own) own.refused = entry.refused;
  link.log("refused", entry.refused);
  link.emit("refused", { ...entry.refused, operations: entry.body.ops ?? [], entry });
}

function taken(link, entry, status, body) {
  if (entry.kind === "create") {
    if (status === 201) Object.assign(link.session, body, { opening_step: link.session.opening_step });
    link.reader.opened();
  } else if (entry.kind === "changes") saved(link, entry, body);
  else if (body.error) link.reader.again();
  else startedOver(link, entry, body);
}

function saved(link, entry, body) {
  for (const { id, ver, removed } of body.applied) if (!removed) link.book.acknowledged(id, ver);
  const changed = body.ignored.filter((ignored) => ignore(link, ignored)).map((ignored) => ignored.id);
  for (const conflict of body.conflicts) if (settle(link, entry, conflict)) changed.push(conflict.id);
  report(link, entry, body);
  link.savedAt = body.saved_at;
  link.session.rev = Math.max(link.session.rev, body.rev);
  if (body.prev_rev === link.baseRev && body.conflicts.length === 0) link.baseRev = body.rev;
  else if (body.rev > link.baseRev) link.reader.catchUp();
  link.log("saved at", body.saved_at);
  link.emit("saved", { savedAt: body.saved_at, rev: body.rev, session: link.session.id, applied: body.applied });
  if (changed.length > 0) link.emit("changed", { messages: link.book.list(), changed, removed: [] });
  link.mirror();
}

/** Answers whether the page now has something else to show. */
function ignore(link, { id, reason, server }) {
  if (reason === "removed") {
    link.book.bury(id);
    return true;
  }
  if (!server || pending(link, id) || link.book.buried.has(id)) return false;
  if (reason === "same") link.book.acknowledged(id, server.ver);
  return reason === "stale" && link.book.fromServer(server);
}

/** On a conflict the page goes on only where its own text begins with the server's. */
function settle(link, entry, { id, server, copy_id: copyId }) {
  const ours = link.dirty.get(id) ?? entry.body.ops.find((operation) => operation.id === id);
  if (ours?.op === "upsert" && server && textOf(ours).startsWith(textOf(server)) && textOf(ours) !== textOf(server)) {
    link.book.acknowledged(id, server.ver);
    link.dirty.set(id, { ...ours, if_ver: server.ver });
    return false;
  }
  link.dirty.delete(id);
  if (server && !link.book.buried.has(id)) link.book.fromServer(server);
  link.emit("conflict", { id, server, ours, copyId });
  return true;
}

/** What the server did not take: never silently. */
function report(link, entry, body) {
  const operations = (body?.rejected ?? []).map((rejected) => ({ ...rejected, operation: entry.body.ops?.[rejected.index] }));
  if (operations.length > 0) link.emit("refused", { status: 200, code: "rejected", message: operations[0].message, operations });
}

function startedOver(link, entry, body) {
  link.savedAt = body.saved_at;
  if (entry.kind === "clear") link.baseRev = body.rev;
  Object.assign(link.session, { epoch: body.epoch, rev: body.rev });
  if (entry.kind === "undo") link.reader.again();
  link.mirror();
}

/** Somebody started the chat over before this arrived. The server keeps its words as copies; the page reads anew. */
function staleEpoch(link, entry, own, dropped, epoch) {
  const keys = new Set(dropped.map((one) => one.key));
  link.waiting = link.waiting.filter((one) => !keys.has(one.key));
  const unsent = dropped.flatMap((one) => one.body.ops ?? []);
  if (own) {
    unsent.push(...link.dirty.values());
    link.dirty.clear();
    link.step = null;
    link.startOver.take(unsent, epoch);
  } else if (unsent.length > 0) {
    link.emit("cleared", { by: "other", unsent, messages: link.book.list() });
  }
}

/** Is something newer of this page's under way? Then what the server has is not what there is to show. */
export function pending(link, id) {
  return link.dirty.has(id) || link.waiting.some((entry) => entry.body.ops?.some((operation) => operation.id === id));
}

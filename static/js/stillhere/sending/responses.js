/** What the server's answers mean for the page that asked. */
import { textOf } from "../session/message-content.js";
import { digest } from "../util.js";

/**
 * @import { Session, StoredMessage } from "../../stillhere.js"
 * @import { ResponsesNeeds } from "../needs.d.ts"
 * @import { AnswerBody, Conflict, Entry, EpochAnswer, Refusal, SaveAnswer, SentOperation } from "../types.d.ts"
 */

export class Responses {
  /** @param {ResponsesNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** @type {WeakMap<Entry, (body: AnswerBody | null) => void>} */
    this.resolvers = new WeakMap();
    /** What the page was told of already: each refusal once, also if a closing page said the same in two requests. @type {Set<string>} */
    this.told = new Set();
  }

  /** Resolves when this request is answered: with the answer, or null if it has no content. @param {Entry} entry */
  answerTo(entry) {
    /** @type {Promise<AnswerBody | null>} */
    const answered = new Promise((resolve) => {
      this.resolvers.set(entry, resolve);
    });
    return answered;
  }

  /**
   * An answer to a request of this scope, whichever tab sent it; from other tabs' requests only changes matter.
   * @param {Entry} entry @param {number} status @param {AnswerBody | null} body
   */
  take(entry, status, body) {
    const { state, queue, epochChange, goOn } = this.needs;
    const own = queue.answered(entry.key) ?? state.inheritedAnswer(entry.key);
    if (body?.epoch !== undefined && body.rev !== undefined) state.told(entry.session, { epoch: body.epoch, rev: body.rev });
    if (body?.error?.code === "stale_epoch") {
      if (own) epochChange.refused(own, Number(body.error.details?.epoch));
    } else if (entry.session !== state.session?.id) this._elsewhere(entry, body);
    else if (entry.kind === "ask") this.needs.acknowledged(entry.body, body ?? {}, own !== undefined);
    else if (own) this._taken(entry, status, body ?? {});
    else this._report(entry, body);
    if (own) this.resolvers.get(own)?.(body?.error ? null : (body ?? {}));
    epochChange.answered();
    goOn();
  }

  /** @param {Entry & {refused: Refusal}} entry */
  refuse(entry) {
    const { state, queue, emit, log } = this.needs;
    queue.refuse(entry.key, entry.refused);
    state.inheritedAnswer(entry.key);
    log("refused", entry.refused);
    if (this._isTold(`${entry.key} ${entry.refused.code}`)) return;
    emit("refused", { ...entry.refused, operations: this._unsaved(entry), entry });
  }

  /** What a refused request leaves unsaved: without its session, everything. @param {Entry} entry */
  _unsaved({ kind, session, body }) {
    if (kind !== "create") return body.ops ?? [];
    const { queue, state } = this.needs;
    const behind = queue.waiting.filter((one) => one.session === session).flatMap((one) => one.body.ops ?? []);
    return session === state.session?.id ? [...behind, ...queue.operations.values()] : behind;
  }

  /** @param {Entry} entry @param {AnswerBody | null} body */
  _elsewhere(entry, body) {
    this._report(entry, body);
    if (entry.kind === "create") this.needs.reader.begun();
  }

  /** @param {Entry} entry @param {number} status @param {AnswerBody} body */
  _taken(entry, status, body) {
    const { state, reader, opened } = this.needs;
    if (entry.kind === "create") {
      if (status === 201) state.created(/** @type {Partial<Session>} */ (body));
      opened();
    } else if (entry.kind === "changes") this._saved(entry, /** @type {SaveAnswer} */ (body));
    else if (body.error) reader.again();
    else this._startedOver(entry, /** @type {EpochAnswer} */ (body));
  }

  /** @param {Entry} entry @param {SaveAnswer} body */
  _saved(entry, body) {
    const { state, store, catchUp, mirror, emit, log } = this.needs;
    for (const { id, ver, removed } of body.applied) if (!removed) store.acknowledged(id, ver);
    const ignored = body.ignored.filter((one) => this._ignore(one)).map(({ id }) => id);
    const settled = body.conflicts.filter((conflict) => this._settle(entry, conflict)).map(({ id }) => id);
    const changed = [...ignored, ...settled];
    const unsure = [...changed];
    if (body.siblings) changed.push(...store.saySiblings(body.siblings));
    if (body.head !== undefined) state.atHead(body.head);
    const known = state.saved(body);
    if (known === "next") store.appended(body.applied.map(({ id }) => id));
    this._report(entry, body);
    if (known === "behind") catchUp.run();
    // Later changes were read before this answer, except those of what was unanswered.
    else if (body.rev < state.baseRev) unsure.push(...body.applied.map(({ id }) => id));
    if (unsure.length > 0) catchUp.reread(unsure);
    log("saved at", body.saved_at);
    emit("saved", { savedAt: body.saved_at, rev: body.rev, session: entry.session, applied: body.applied });
    if (changed.length > 0 || store.reordered) emit("changed", { messages: store.tell(), changed, removed: [] });
    mirror.write();
  }

  /** @param {SaveAnswer["ignored"][number]} ignored @returns {boolean} whether the page now has something else to show */
  _ignore({ id, reason, server }) {
    const { store, queue } = this.needs;
    if (reason === "removed") {
      store.remove(id);
      return true;
    }
    if (!server || queue.holds(id) || store.tombstones.has(id)) return false;
    if (reason === "same") store.acknowledged(id, server.ver ?? 0);
    if (reason !== "stale") return false;
    return server.text_omitted || store.fromServer(this._short(server));
  }

  /**
   * After a conflict the page continues only if its own text begins with the server's.
   * @param {Entry} entry @param {Conflict} conflict @returns {boolean} whether the page now shows another text
   */
  _settle(entry, { id, server, copy_id: copyId }) {
    const { store, queue, emit } = this.needs;
    const newer = queue.newest(id);
    const ours = newer ?? entry.body.ops?.find((operation) => operation.id === id);
    // Not after a clear of this page, which the server has not seen: the words would come after it.
    const isShown = !store.tombstones.has(id);
    // What it lengthens is not known of a text that the answer omits: the message is read again.
    const known = server && !server.text_omitted ? server : null;
    const isLonger =
      ours && ours.op !== "delete" && known && textOf(ours) !== textOf(known) && textOf(ours).startsWith(textOf(known));
    if (isShown && isLonger) {
      store.acknowledged(id, known.ver ?? 0);
      // What others added beside the text stays: this page has not seen it.
      const lengthened = { parts: null, format: null, raw: null, ...ours, op: "patch", if_ver: known.ver };
      queue.add([/** @type {SentOperation} */ (/** @type {unknown} */ (lengthened))]);
      return false;
    }
    if (newer) return false; // Its own answer will show it.
    if (known && isShown) store.fromServer(this._short(known));
    emit("conflict", { id, server, ours, copyId });
    return true;
  }

  /**
   * An answer has no parts and no metadata of the server's version: until it is read whole, this page has seen none, so that what it says
   * on top replaces nothing. @param {StoredMessage} server @returns {StoredMessage}
   */
  _short(server) {
    const known = this.needs.store.messages.get(server.id);
    const { position, created_at, parent_id } = known ?? {};
    const parts = [{ type: "text", text: server.text }];
    return { ...(known && { position, created_at, parent_id }), ...server, parts, ver: 0 };
  }

  /** Reports rejected messages, never silently. @param {Entry} entry @param {AnswerBody | null} body */
  _report(entry, body) {
    const rejected = (body?.rejected ?? []).map((one) => ({ ...one, operation: entry.body.ops?.[one.index] }));
    const operations = rejected.filter(({ operation }) => !this._isTold(`${entry.session} ${printed(operation)}`));
    if (operations.length === 0) return;
    const { state, store, emit } = this.needs;
    const shown = entry.session === state.session?.id ? operations.flatMap(({ operation }) => operation?.id ?? []) : [];
    const changed = shown.filter((id) => store.refuse(id));
    emit("refused", { status: 200, code: "rejected", message: operations[0].message, operations });
    if (changed.length > 0) emit("changed", { messages: store.tell(), changed, removed: [] });
  }

  /** What is refused again after this is told again. */
  retry() {
    this.told.clear();
  }

  /** @param {string} refusal */
  _isTold(refusal) {
    const isTold = this.told.has(refusal);
    this.told.add(refusal);
    return isTold;
  }

  /** @param {Entry} entry @param {EpochAnswer} body */
  _startedOver(entry, body) {
    const { state, reader, catchUp, mirror } = this.needs;
    state.startedOver(body, entry.kind === "clear");
    if (entry.kind === "undo") reader.again();
    // What others said after the clear was not read before its answer.
    else if (state.isBehind) catchUp.run();
    mirror.write();
  }
}

/** A name for what an operation says, without what it is based on. @param {SentOperation | undefined} operation */
function printed(operation) {
  const { if_ver: _, if_write: __, ...said } = operation ?? { op: "upsert", id: "" };
  return digest(JSON.stringify(said));
}

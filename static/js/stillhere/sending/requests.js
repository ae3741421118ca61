/** The requests that a page makes of its operations. Every attempt sends the same request. */
import { now } from "../util.js";

/**
 * @import { Session, StoredMessage } from "../../stillhere.js"
 * @import { Entry, EntryBody, Identity, Joined, Seen, SentOperation } from "../types.d.ts"
 *
 * @typedef {Omit<Identity, "client"> & {session: string, created: boolean, epoch: number, baseRev: number,
 *   seenOf: (id: string) => Seen}} Context where the page is when it makes a request; `created`: not a session that is still to be
 *   made
 * @typedef {Pick<Context, "session" | "epoch">} Place where something is said, if not where the page is
 * @typedef {Pick<Entry, "session" | "writer" | "seq" | "body">} Said what a request says, and whose it is
 */

const REQUEST_CHARACTERS = 1_000_000;
const REQUEST_OPS = 200;

/** @param {Pick<Entry, "session" | "writer" | "seq">} entry */
export const keyOf = ({ session, writer, seq }) => `${session}/${writer}/${String(seq).padStart(9, "0")}`;

/** Requests of one writer to one session are sent in order. @param {Pick<Entry, "session" | "writer">} entry */
export const laneOf = ({ session, writer }) => `${session}/${writer}`;

/** @param {Context} context @param {number} seq */
function common({ scope, session, writer }, seq) {
  return { at: now(), scope, session, writer, seq, key: keyOf({ session, writer, seq }) };
}

/**
 * A request that carries one of the writer's numbers.
 * @param {Context} context @param {number} seq @param {"changes" | "clear" | "undo"} kind @param {string} path
 * @param {EntryBody} body @returns {Entry}
 */
export function step(context, seq, kind, path, body) {
  const numbered = { ...body, epoch: context.epoch, writer_id: context.writer, seq };
  return { kind, method: "POST", path: `/sessions/${context.session}/${path}`, body: numbered, ...common(context, seq) };
}

/** A request for an answer of the server. Its id identifies it. @param {Context} context @param {number} seq @param {EntryBody} body @returns {Entry} */
export function asking(context, seq, body) {
  return { kind: "ask", method: "POST", path: `/sessions/${context.session}/generations`, body, ...common(context, seq) };
}

/**
 * Creates a session under an id of this page; the server creates the project if needed.
 * @param {Context} context @param {string | null} openingStep @returns {Entry}
 */
export function creation(context, openingStep) {
  const { project, chat } = context;
  const body = {
    project,
    ...(chat === undefined ? {} : { external_id: chat }),
    ...(openingStep ? { opening_step: openingStep } : {}),
  };
  const headers = { "If-None-Match": "*" };
  return { kind: "create", method: "PUT", path: `/sessions/${context.session}`, body, headers, ...common(context, 0) };
}

/**
 * A save.
 * @param {Context} context @param {number} seq @param {SentOperation[]} operations @param {string | null} openingStep null: it stays
 */
export function changes(context, seq, operations, openingStep) {
  const ops = operations.map((op) => ({ ...context.seenOf(op.id), ...op }));
  const fields = { base_rev: context.baseRev, ops, ...(openingStep === null ? {} : { opening_step: openingStep }) };
  return step(context, seq, "changes", "changes", fields);
}

/**
 * Saves of all operations, and what is asked for behind them.
 * @param {Context} context @param {() => number} next the writer's next number
 * @param {{operations: Map<string, SentOperation>, newStep: string | null, asks: EntryBody[]}} unsent @param {number} [characters]
 */
export function requestsOf(context, next, { operations, newStep, asks }, characters) {
  const lists = operations.size > 0 || newStep !== null ? pieces(operations.values(), characters) : [];
  const saves = lists.map((ops, at) => changes(context, next(), ops, at === 0 ? newStep : null));
  return [...saves, ...asks.map((body) => asking(context, next(), body))];
}

/**
 * A request that was meant for a session that is never made, for the one that is there instead.
 * @template {Entry} Made @param {Made} entry @param {Joined} joined @returns {Made}
 */
export function rerouted(entry, { from, session }) {
  const { body, path } = entry;
  const ahead = session.epoch - 1;
  const inEpoch = (/** @type {number | undefined} */ epoch) => (epoch === undefined ? undefined : epoch + ahead);
  const made = { ...entry, session: session.id, path: path.replace(`/sessions/${from}/`, `/sessions/${session.id}/`) };
  return { ...made, key: keyOf(made), body: { ...body, epoch: inEpoch(body.epoch), of: inEpoch(body.of) } };
}

/**
 * The operations as lists that fit into one request each; one list at least.
 * @param {Iterable<SentOperation>} operations
 */
export function pieces(operations, characters = REQUEST_CHARACTERS) {
  /** @type {SentOperation[]} */
  let last = [];
  const lists = [last];
  let size = 0;
  for (const operation of operations) {
    const own = JSON.stringify(operation).length;
    if (last.length > 0 && (size + own > characters || last.length >= REQUEST_OPS)) {
      last = [];
      lists.push(last);
      size = 0;
    }
    last.push(operation);
    size += own;
  }
  return lists;
}

/**
 * Messages with unsent operations of the same session and epoch applied.
 * @param {StoredMessage[]} messages @param {Pick<Entry, "session" | "body">[]} entries
 * @param {Session | null} session null: of whichever session they are
 */
export function applied(messages, entries, session) {
  const shown = new Map(messages.map((message) => [message.id, message]));
  for (const entry of entries.filter((one) => isOf(one, session))) {
    for (const { op, if_ver: _, if_write: __, ...message } of entry.body.ops ?? []) {
      if (op === "delete") shown.delete(message.id);
      else {
        const parts = message.parts ?? [{ type: "text", text: message.text }];
        shown.set(message.id, /** @type {StoredMessage} */ ({ ...shown.get(message.id), ...message, parts }));
      }
    }
  }
  return [...shown.values()];
}

/**
 * The messages that these requests take out in the end.
 * @param {Pick<Entry, "session" | "body">[]} entries @param {Session | null} session null: of whichever session they are
 */
export function takenOut(entries, session) {
  const operations = entries.filter((one) => isOf(one, session)).flatMap(({ body }) => body.ops ?? []);
  const newest = new Map(operations.map(({ id, op }) => [id, op]));
  return [...newest].filter(([, op]) => op === "delete").map(([id]) => id);
}

/**
 * The newest of these requests that said each message, for what is said on top of them: the server has no version of that yet.
 * @param {Said[]} entries @param {Session | null} session @returns {Map<string, NonNullable<Seen["if_write"]>>}
 */
export function writesOf(entries, session) {
  const said = entries.filter((entry) => isOf(entry, session));
  return new Map(said.flatMap(({ writer, seq, body }) => (body.ops ?? []).map(({ id }) => [id, { writer_id: writer, seq }])));
}

/**
 * A page's requests without an answer, and the next one as it is now.
 * @param {Pick<Context, "session" | "writer" | "epoch">} context
 * @param {{waiting: Entry[], operations: Map<string, SentOperation>, seq: number}} queue @returns {Said[]}
 */
export function unanswered({ session, writer, epoch }, { waiting, operations, seq }) {
  return [...waiting, { session, writer, seq, body: { ops: [...operations.values()], epoch } }];
}

/** @param {Pick<Entry, "session" | "body">} entry @param {Session | null} session null: of whichever session it is */
const isOf = (entry, session) => !session || (entry.session === session.id && (entry.body.epoch ?? 1) === session.epoch);

/** Does it make a session? Not one of a page that lives and may yet find another. @param {Entry} entry */
export function isCreation({ kind, draft, refused }) {
  return kind === "create" && !draft && !refused;
}

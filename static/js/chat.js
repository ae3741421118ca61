/**
 * The chat page. It uses the browser module and the public API like any other frontend: read it as an example.
 * The list of messages is the page's own; every change of it is passed to `save()`, which is all that saving needs.
 */

import { AgentPanel, actsOf } from "./chat/agent-panel.js";
import { AnswerFailed, alone, streamAnswer } from "./chat/answer-stream.js";
import { Api } from "./chat/api.js";
import { CurrentSession } from "./chat/current-session.js";
import { ComposerDraft } from "./chat/input/composer-draft.js";
import { turnsOf } from "./chat/messages/message-parts.js";
import { PageState } from "./chat/page-state.js";
import { stateAfter } from "./chat/plan.js";
import { ServerConnection } from "./chat/server-connection.js";
import { giveTitle } from "./chat/session-title.js";
import { TrashNotice } from "./chat/trash-notice.js";
import { View } from "./chat/view.js";
import { byId, messageOf } from "./pages/elements.js";
import { whenSeen } from "./pages/event-stream.js";
import { stored } from "./pages/stored.js";
import { connect, uuid } from "./stillhere.js";

/**
 * @import { AgentState, AgentStateFields, Frame, State } from "./stillhere.js"
 * @import { Draft } from "./chat/input/message-field.js"
 * @import { PageMessage } from "./chat/messages/message-parts.js"
 */

const UNFINISHED_MS = 6000;
const root = byId("chat", HTMLElement);
const { project = "", user = "" } = root.dataset;
const auth = { cookie: /** @type {const} */ (true), user, csrf: root.dataset.csrf ?? "" };
const view = new View(root, () => auth.csrf);
const panel = new AgentPanel(byId("agent-panel", HTMLElement));
const api = new Api(auth);
const chat = connect({ project, client: "chat", auth, debug: stored("stillhereDebug") === "1" });
const composerDraft = new ComposerDraft(view.message, chat);
const page = new PageState();
const connection = new ServerConnection({ chat, auth, view, changed: draw, back });
const current = new CurrentSession({ chat, api, notices: view.notices, open: openCurrent });
const trash = new TrashNotice({ chat, api, view });

function draw() {
  const total = page.messages.length + chat.unread;
  const { messages, step } = page;
  view.show({ messages, step, total, streaming: Boolean(page.answering), connected: connection.good });
}

/** @param {PageMessage[]} messages @param {string} openingStep */
function show(messages, openingStep) {
  page.messages = messages;
  page.step = openingStep || "question";
  draw();
  view.linkTo(chat.session);
}

function save({ streaming = false } = {}) {
  chat.save(page.messages, { streaming, openingStep: page.openingStep });
  draw();
}

/** @param {Draft[]} drafts */
async function say(drafts) {
  view.alert("");
  view.toast("");
  if (page.step === "question") page.step = "brainstorm";
  for (const draft of drafts) page.put({ id: uuid(), role: "user", ...draft, status: "complete" });
  save();
  composerDraft.sent();
  await answer();
}

/** Request the answer to the last message, unless another tab already does. */
async function answer() {
  const last = page.last;
  if (!last || page.answering) return;
  const asked = await alone(last.id, () => page.last?.id === last.id && !page.answering && ask(last));
  if (asked === false) view.quiet("This is being answered already.");
}

/** @param {PageMessage} question */
async function ask(question) {
  const answering = { id: uuid(), abort: new AbortController(), text: "" };
  page.answering = answering;
  view.alert("");
  draw();
  const grow = (/** @type {PageMessage["status"]} */ status) =>
    page.put({ id: answering.id, role: "assistant", text: answering.text, status });
  /** @type {PageMessage["status"]} */
  let status = "complete";
  let failed = null;
  try {
    const { signal } = answering.abort;
    const pieces = streamAnswer({ messages: turnsOf(page.messages), openingStep: page.step, csrf: auth.csrf, signal });
    for await (const piece of pieces) {
      if (page.answering !== answering) return; // Cleared, or another project was opened meanwhile.
      answering.text += piece;
      grow("streaming");
      save({ streaming: true });
    }
  } catch (error) {
    status = "interrupted";
    if (!(error instanceof DOMException && error.name === "AbortError")) failed = whyNot(error, question);
  } finally {
    answering.abort.abort(); // The answer was cut off: ignore the rest of it.
  }
  if (page.answering !== answering) return;
  page.answering = null;
  if (answering.text) grow(status);
  save();
  saveTurn(status === "complete" ? answering.text : "", failed);
}

/** An unreachable server or an ended login is shown until it is over; other errors stay until the next attempt. @param {unknown} error @param {PageMessage} question */
function whyNot(error, question) {
  const message = messageOf(error);
  if (!connection.failed(error)) view.alert(message);
  else if (error instanceof AnswerFailed && error.status) page.asked = question.id;
  return message;
}

/** Saves the agent's state after every turn: its step, the error if any, and its plan, so that they survive a reload. @param {string} text @param {string | null} failed */
function saveTurn(text, failed) {
  const turns = page.messages.length + chat.unread;
  saveState(stateAfter({ step: page.step, turns, text, failed, former: panel.state }));
}

/** @param {AgentStateFields} fields */
function saveState(fields) {
  panel.show(/** @type {AgentState} */ ({ ...panel.state, ...fields }));
  chat.saveState(fields);
}

function stop() {
  page.answering?.abort.abort();
}

/** The chat was cleared or switched: ignore the answer that is still streaming. */
function leave() {
  stop();
  page.answering = null;
}

/** Notices about one session do not apply to the next. */
function forgetSession() {
  view.alert("");
  view.toast("");
  trash.forget();
  current.forget();
}

/** Clear session, Back to question and Finish planning: each clears the session and can be undone. @param {string} words */
async function startOver(words) {
  leave();
  view.alert("");
  const clearing = chat.clear();
  show([], "question");
  view.quiet("");
  view.toast(words, async () => {
    const cleared = await clearing;
    view.toast("");
    await chat.undoClear(cleared?.of);
  });
  view.focus();
  await clearing;
}

/** @param {string} path */
async function open(path) {
  leave();
  forgetSession();
  composerDraft.leave();
  restored(await chat.switchProject(path));
  remember(path);
}

/** Opens the session that became current elsewhere; an answer that is streaming here is saved as far as it was received. */
async function openCurrent() {
  if (page.answering) page.cutOff();
  leave();
  save();
  forgetSession();
  await resume();
}

/** Shows the saved messages, from the server or from this browser. */
async function resume() {
  try {
    restored(await chat.resume());
    remember(chat.project);
  } catch (error) {
    if (!connection.failed(error)) view.alert(`Not up to date: ${messageOf(error)} What you write is kept here.`);
  }
}

/** @param {State} state */
function restored(state) {
  page.restored ||= !state.mirrored;
  show(state.messages, state.openingStep);
  panel.show(state.agentState ?? null);
  view.restored(state);
  composerDraft.restore();
  watchUnfinished();
}

/** The server responds and the same user is signed in again: continue what was waiting. */
async function back() {
  const { asked } = page;
  page.asked = null;
  if (!page.restored) await resume();
  else save();
  if (asked && page.last?.id === asked) await answer();
}

/** An answer that no page continues: after a while without new text this page treats it as cut off too. */
function watchUnfinished() {
  const last = page.last;
  if (last?.status !== "streaming" || page.answering) return;
  setTimeout(() => {
    const now = page.last;
    if (page.answering || now?.id !== last.id || now.text !== last.text || now.status !== "streaming") return;
    page.cutOff();
    draw();
  }, UNFINISHED_MS);
}

/** Stores the last open project, for the next visit without a project in the address. */
const remember = (/** @type {string} */ path) => api.try("PUT", "/app-state?client=chat", { selected_project: path });

view.on({
  say,
  stop,
  older: async () => show((await chat.older()).messages, page.step),
  open: (path) => {
    history.pushState({}, "", `?project=${encodeURIComponent(path)}`);
    return open(path);
  },
  clear: () => startOver("Session cleared."),
  back: () => startOver("Back to the question."),
  finish: () => startOver("Planning is finished."),
  plan: () => {
    page.step = "plan";
    save();
    return answer();
  },
  again: () => {
    view.focus();
    return answer();
  },
  fresh: async () => {
    leave();
    forgetSession();
    const state = await chat.newSession();
    view.toast("A new session. The previous one is among the earlier sessions.");
    show(state.messages, "question");
    panel.show(null);
  },
});

panel.on(actsOf({ panel, chat, view, connection, saveState }));

/** Another page or agent changed the state in the panel. It is read when the page is visible. */
const readState = whenSeen(async () => panel.show(await chat.state().catch(() => panel.state)));
const stateChanged = (/** @type {Frame} */ { session }) => session === chat.session?.id && readState();

chat.on("saved", ({ savedAt }) => {
  view.saved(savedAt);
  view.linkTo(chat.session);
  giveTitle(chat.session, page.messages, api);
});
chat.on("restored", (state) => page.answering || restored(state));
chat.on("changed", ({ messages }) => {
  const { answering } = page;
  if (answering?.text && !messages.some(({ id }) => id === answering.id)) leave();
  show(messages, chat.openingStep);
});
chat.on("cleared", ({ by, messages }) => {
  if (by === "this") return;
  leave();
  show(messages, chat.openingStep);
  view.quiet("The chat was cleared elsewhere.");
});
chat.on("PLAN_RESTORED", ({ data: plan }) => plan && panel.show({ ...panel.state, plan }));
chat.on("AGENT_STATE_SAVED", stateChanged);
chat.on("PENDING_ACTION_RESOLVED", stateChanged);
chat.on("conflict", () => view.alert("Somebody else changed the same message. Both versions are kept: see the session's page."));
chat.on("refused", (refusal) => {
  if (refusal.code === "session_deleted") trash.tell();
  else if (!connection.failed(refusal)) view.alert(`Not saved: ${refusal.message} Your text stays on this page.`);
});
addEventListener("popstate", () => open(new URLSearchParams(location.search).get("project") || project));

const peeked = chat.peek();
if (peeked) restored(peeked);
await resume();
root.dataset.ready = "1";

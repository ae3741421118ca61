/** The chat page, a frontend like any other: read it as an example. All changes of its list of messages are passed to `save()`. */
import { AgentPanel, actsOf, followState } from "./chat/agent-panel.js";
import { DoneNotice } from "./chat/answering/done-notice.js";
import { Instructions } from "./chat/answering/instructions.js";
import { ModelChoice } from "./chat/answering/model-choice.js";
import { Api } from "./chat/api.js";
import { ComposerDraft } from "./chat/input/composer-draft.js";
import { UnsavedNotes } from "./chat/messages/unsaved-notes.js";
import { Versions } from "./chat/messages/versions.js";
import { keepThisPage } from "./chat/offline/registration.js";
import { PageState } from "./chat/page-state.js";
import { ServerConnection } from "./chat/server-connection.js";
import { ClearedNotice } from "./chat/sessions/cleared-notice.js";
import { CurrentSession } from "./chat/sessions/current-session.js";
import { SessionList } from "./chat/sessions/session-list.js";
import { SessionTitle } from "./chat/sessions/session-title.js";
import { startingOver } from "./chat/sessions/starting-over.js";
import { TrashNotice } from "./chat/sessions/trash-notice.js";
import { stateAfter } from "./chat/state-after-turn.js";
import { View } from "./chat/view.js";
import { byId, messageOf } from "./pages/elements.js";
import { stored } from "./pages/stored.js";
import { connect } from "./stillhere.js";

/**
 * @import { AgentState, AgentStateFields, Answered, State } from "./stillhere.js"
 * @import { Draft } from "./chat/input/message-field.js"
 * @import { PageMessage } from "./chat/messages/message-parts.js"
 */

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
const current = new CurrentSession({ chat, api, notices: view.notices, open: openCurrent, leave: () => versions.leave() });
const versions = new Versions({
  chat,
  page,
  view,
  draft: composerDraft,
  busy: isAnswering,
  again: (question) => ask(question, { again: true }),
  show: (messages) => show(messages, page.step),
});
const needs = { chat, api, alert: (/** @type {string} */ words) => view.alert(words) };
const title = new SessionTitle({ ...needs, focus: () => view.focus(), changed: () => instructions.show() });
const sessions = new SessionList({ chat, api, open: openSession, connected: () => connection.good });
const trash = new TrashNotice({ chat, api, view });
const cleared = new ClearedNotice({ chat, view });
const models = new ModelChoice();
const instructions = new Instructions(needs);
const done = new DoneNotice();
const startOver = startingOver({ chat, view, versions, show });
new UnsavedNotes({ chat, transcript: view.transcript, show: (messages) => show(messages, chat.openingStep) });

/** Is an answer made, or asked for, that nobody stopped? */
function isAnswering() {
  return chat.answering !== null && chat.answering.state !== "stopping";
}

function draw() {
  const total = page.messages.length + chat.unread;
  const { messages, step, stalled } = page;
  const connected = connection.good;
  const waiting = chat.answering?.state === "waiting";
  view.show({ messages, step, total, streaming: isAnswering(), waiting, stalled, connected });
}

/** @param {PageMessage[]} messages @param {string} openingStep */
function show(messages, openingStep) {
  page.messages = messages;
  page.step = openingStep || "question";
  draw();
  view.linkTo(chat.session);
  title.show(messages);
  instructions.show();
}

function save() {
  chat.save(page.messages, { openingStep: page.openingStep });
  draw();
}

/** @param {Draft[]} drafts */
function say(drafts) {
  view.forgetSaid();
  if (page.step === "question") page.step = "brainstorm";
  versions.put(drafts);
  save();
  composerDraft.sent();
  answer();
}

/** Let the server answer the last message. */
function answer() {
  const { last } = page;
  // Without a connection more can be said meanwhile; it is answered afterwards.
  if (last && !(isAnswering() && connection.good)) ask(last.id);
}

/** Another answer to the last question, beside the incomplete one. */
function answerAgain() {
  view.focus();
  return page.last?.role === "assistant" ? versions.regenerate(page.last.id) : answer();
}

/** @param {string} question its id @param {{again?: boolean}} [options] `again`: its answers so far stay as other versions */
function ask(question, { again = false } = {}) {
  view.alert("");
  page.stalled = null;
  chat.answer(question, { again, model: models.chosen, instructions: instructions.text });
}

async function continueAnswer() {
  view.alert("");
  view.focus();
  try {
    if (await chat.continueAnswer(page.last?.id)) return;
    view.alert("This answer cannot be continued, because another program made it. Try again instead.");
  } catch (error) {
    if (!connection.failed(error)) view.alert(messageOf(error));
  }
}

/** @param {Answered} answered */
function ended(answered) {
  const { own, message, state, error } = answered;
  done.tell(answered, chat.session?.title ?? "");
  draw();
  if (!own) return;
  if (error) view.alert(error);
  const text = page.messages.find(({ id }) => id === message)?.text ?? "";
  saveTurn(state === "complete" ? text : "", error);
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

/** Notices about one session do not apply to the next. */
function forgetSession() {
  view.forgetSaid();
  for (const part of [trash, cleared, current, instructions]) part.forget();
}

/** What is said from now on is said there, though the server may answer late. @param {string} path */
async function open(path) {
  if (path === chat.project) return; // A jump within the page goes through the history too.
  versions.leave();
  forgetSession();
  const opened = chat.switchProject(path);
  const known = chat.peek();
  show([], "");
  panel.show(null);
  if (known) restored(known);
  restored(await opened);
  keepThisPage();
  remember(chat.project);
}

/** Opens one of the project's sessions, which becomes its current one. @param {string} id */
async function openSession(id) {
  view.focus();
  if (id === chat.session?.id) return;
  try {
    await current.choose(id);
  } catch (error) {
    if (!connection.failed(error)) view.alert(`Not opened: ${messageOf(error)}`);
  }
}

/** Opens the session that became current elsewhere. */
async function openCurrent() {
  versions.leave();
  forgetSession();
  await current.during(resume);
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
  if (state.project !== chat.project) return; // The page is in another project by now.
  page.restored ||= !state.mirrored;
  show(state.messages, state.openingStep);
  panel.show(state.agentState ?? null);
  view.restored(state);
  cleared.offer(state);
  versions.restore(state.session?.id);
  sessions.soon();
  page.watchUnfinished(() => chat.answering !== null, draw);
}

/** The server responds and the same user is signed in again: continue what was waiting. */
async function back() {
  instructions.save();
  if (!page.restored) await resume();
  else save();
}

/** Stores the last open project, for the next visit without a project in the address. */
const remember = (/** @type {string} */ path) => api.try("PUT", "/app-state?client=chat", { selected_project: path });

view.on({
  say,
  stop: () => chat.stop(),
  upload: (file, options) => connection.watched(chat.upload(file, options)),
  older: () => chat.older().then(() => show(chat.peek()?.messages ?? [], page.step)),
  open: (path) => {
    if (path !== chat.project) history.pushState({}, "", `?project=${encodeURIComponent(path)}`);
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
  ...versions.acts,
  again: answerAgain,
  goOn: continueAnswer,
  fresh: async () => {
    versions.stop(true);
    forgetSession();
    sessions.close();
    view.focus();
    const state = await chat.newSession();
    show(state.messages, "question");
    view.restored(state);
    view.toast("A new session. The previous one is among the earlier sessions.");
    panel.show(null);
  },
});
panel.on(actsOf({ panel, chat, view, connection, saveState }));
followState({ panel, chat });

chat.on("saved", ({ savedAt }) => {
  view.saved(savedAt);
  view.linkTo(chat.session);
  title.give(page.messages);
  instructions.save();
});
chat.on("restored", restored);
chat.on("changed", ({ messages }) => show(messages, chat.openingStep));
chat.on("answering", draw);
chat.on("answered", ended);
chat.on("cleared", ({ by, messages }) => {
  if (by === "this") return;
  versions.stop(true);
  show(messages, chat.openingStep);
  view.quiet("The chat was cleared elsewhere.");
});
chat.on("conflict", () => view.alert("Somebody else changed the same message. Both versions are kept: see the session's page."));
chat.on("refused", (refusal) => {
  if (refusal.code === "session_deleted") trash.refused(refusal);
  else if (!connection.failed(refusal)) view.alert(`Not saved: ${refusal.message} Your text stays on this page.`);
});
addEventListener("popstate", () => open(new URLSearchParams(location.search).get("project") || project));

const peeked = chat.peek();
if (peeked) restored(peeked);
models.load(chat);
resume().then(() => root.setAttribute("data-ready", "1"));

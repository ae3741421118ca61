/**
 * The chat page. It uses the browser module and the public API like any other frontend: read it as an example.
 * The list of messages is the page's own; every change of it is handed to `save()`, and that is all there is to saving.
 */
import { connect, uuid } from "./stillhere.js";
import { streamAnswer } from "./chat/answer.js";
import { Held } from "./chat/held.js";
import { planOf } from "./chat/plan.js";
import { View } from "./chat/view.js";
import { whenSeen } from "./follow.js";

const UNFINISHED_MS = 6000;
const TITLE_LENGTH = 80;
const root = document.getElementById("chat");
const view = new View(root);
const held = new Held(document.getElementById("chat-held"));
const { project, user, csrf } = root.dataset;
const chat = connect({ project, client: "chat", auth: { cookie: true, user, csrf }, debug: localStorage.stillhereDebug === "1" });
const page = { messages: [], step: "question", answering: null };

function show(messages, openingStep) {
  page.messages = messages;
  page.step = openingStep || "question";
  view.show({ ...page, streaming: Boolean(page.answering) });
  view.linkTo(chat.session);
}

function save({ streaming = false } = {}) {
  const openingStep = page.step === "question" ? "" : page.step;
  chat.save(page.messages, { streaming, openingStep });
  view.show({ ...page, streaming: Boolean(page.answering) });
}

function put(message) {
  const known = page.messages.some(({ id }) => id === message.id);
  page.messages = known ? page.messages.map((one) => (one.id === message.id ? message : one)) : [...page.messages, message];
}

async function say(text) {
  view.alert("");
  view.toast("");
  if (page.step === "question") page.step = "brainstorm";
  put({ id: uuid(), role: "user", text, status: "complete" });
  save();
  await answer();
}

async function answer() {
  const answering = { id: uuid(), abort: new AbortController(), text: "" };
  page.answering = answering;
  view.alert("");
  view.show({ ...page, streaming: true });
  const grow = (status) => put({ id: answering.id, role: "assistant", text: answering.text, status });
  // What broke off is no answer: whoever is asked again begins anew.
  const history = page.messages.filter(({ status }) => status !== "interrupted").map(({ role, text }) => ({ role, text }));
  let status = "complete";
  let failed = null;
  try {
    const pieces = streamAnswer({ messages: history, openingStep: page.step, csrf, signal: answering.abort.signal });
    for await (const piece of pieces) {
      if (page.answering !== answering) return; // Cleared, or another project, meanwhile.
      answering.text += piece;
      grow("streaming");
      save({ streaming: true });
    }
  } catch (error) {
    status = "interrupted";
    if (error.name !== "AbortError") view.alert((failed = error.message));
  }
  if (page.answering !== answering) return;
  page.answering = null;
  if (answering.text) grow(status);
  save();
  saveTurn(status === "complete" ? answering.text : "", failed);
}

/** The agent's own state after every turn: where it stands, what went wrong, and its plan, which outlives the page. */
function saveTurn(text, failed) {
  const plan = page.step === "plan" ? planOf(text, held.state?.plan) : null;
  const former = held.state?.context ?? {};
  // Another agent's words about the same session are not for this page to overwrite.
  const own = Object.getPrototypeOf(former) === Object.prototype;
  const context = own ? { ...former, step: page.step, turns: page.messages.length } : former;
  saveState({ context, last_error: failed, ...(plan ? { plan } : {}) });
}

function saveState(fields) {
  held.show({ ...held.state, ...fields });
  chat.saveState(fields);
}

function stop() {
  page.answering?.abort.abort();
}

/** The chat goes on elsewhere: what still streams in has no place any more. */
function leave() {
  stop();
  page.answering = null;
}

/** Clear session, Back to question and Finish planning: each starts over, and each can be undone. */
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

async function open(path) {
  leave();
  view.toast("");
  const state = await chat.switchProject(path);
  restored(state);
  remember(path);
}

function restored(state) {
  show(state.messages, state.openingStep);
  held.show(state.agentState ?? null);
  view.restored(state);
  watchUnfinished();
}

/** An answer that nobody's page goes on with: after a while without a word it counts as cut off here too. */
function watchUnfinished() {
  const last = page.messages.at(-1);
  if (last?.status !== "streaming" || page.answering) return;
  setTimeout(() => {
    const now = page.messages.at(-1);
    if (page.answering || now?.id !== last.id || now.text !== last.text || now.status !== "streaming") return;
    page.messages = [...page.messages.slice(0, -1), { ...now, status: "interrupted" }];
    view.show({ ...page, streaming: false });
  }, UNFINISHED_MS);
}

/** Which project was open last, for the next visit without an address. */
const remember = (path) => send("PUT", "/app-state?client=chat", { selected_project: path });

/** A session without a title gets its first words for one, so that lists can tell it from others. */
function name() {
  const { session } = chat;
  const first = page.messages.find(({ role }) => role === "user");
  if (!session || session.title || !first) return;
  session.title = [...first.text.trim().split("\n")[0]].slice(0, TITLE_LENGTH).join("");
  send("PATCH", `/sessions/${session.id}`, { title: session.title });
}

/** What is nice to have saved: when it fails, nobody needs to know. */
function send(method, path, content) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf };
  fetch(`/api/v1${path}`, { method, headers, body: JSON.stringify(content) }).catch(() => {});
}

view.on({
  say,
  stop,
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
    const state = await chat.newSession();
    view.toast("A new session. The former one is archived.");
    view.alert("");
    show(state.messages, "question");
    held.show(null);
  },
});

held.on({
  marked(step, done) {
    const { plan } = held.state;
    const steps = plan.steps.map((one) => (one.id === step ? { ...one, status: done ? "completed" : "pending" } : one));
    saveState({ plan: { ...plan, steps } });
  },
  dismissed() {
    const { plan } = held.state;
    saveState({ plan: null });
    view.toast("Plan dismissed.", () => [view.toast(""), saveState({ plan })]);
    view.focus();
  },
  async answered(decision) {
    try {
      const answer = await chat.resolveAction(decision, { action: held.state.pending_action.id });
      if (answer.late) view.toast(answer.resolution ? `${answer.resolution.by} answered before.` : "Its time is over.");
      held.show(await chat.state());
      view.focus();
    } catch (error) {
      view.alert(error.message);
    }
  },
});

/** Another page or agent changed what is held. It is read when somebody looks. */
const readState = whenSeen(async () => held.show(await chat.state().catch(() => held.state)));
const stateChanged = ({ session }) => session === chat.session?.id && readState();

chat.on("saved", ({ savedAt }) => {
  view.saved(savedAt);
  view.linkTo(chat.session);
  name();
});
chat.on("restored", (state) => page.answering || restored(state));
chat.on("changed", ({ messages }) => {
  if (page.answering && !messages.some(({ id }) => id === page.answering.id) && page.answering.text) leave();
  show(messages, chat.openingStep);
});
chat.on("cleared", ({ by, messages }) => {
  if (by === "this") return;
  leave();
  show(messages, chat.openingStep);
  view.quiet("The chat was started over elsewhere.");
});
chat.on("SESSION_CREATED", async ({ session }) => {
  if (session === chat.session?.id || page.answering) return;
  restored(await chat.resume());
});
chat.on("SESSION_DELETED", ({ session }) => {
  if (session === chat.session?.id) view.alert("This session was moved to the trash. Bring it back there, or begin a new one.");
});
chat.on("PLAN_RESTORED", ({ data: plan }) => plan && held.show({ ...held.state, plan }));
chat.on("AGENT_STATE_SAVED", stateChanged);
chat.on("PENDING_ACTION_RESOLVED", stateChanged);
chat.on("conflict", () => view.alert("Somebody else changed the same message. Both versions are kept: see the session's page."));
chat.on("refused", ({ message }) => view.alert(`Not saved: ${message} Your words stay on this page.`));
chat.on("offline", () => view.quiet("No connection. What you write is kept here and saved when it is back."));
chat.on("warning", () => view.quiet("This browser's storage is full: what is not saved yet lives in this tab alone."));
addEventListener("popstate", () => open(new URLSearchParams(location.search).get("project") || project));

const peeked = chat.peek();
if (peeked) restored(peeked);
try {
  restored(await chat.resume());
  remember(project);
} catch (error) {
  view.alert(`Not up to date: ${error.message} What you write is kept here.`);
}
root.dataset.ready = "1";

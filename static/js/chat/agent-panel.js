/** The agent's state beside the chat: its plan and its question. Text is inserted as text, never as markup. */

import { holdButtons } from "../forms/new-question.js";
import { byId, focusOn, messageOf, one } from "../pages/elements.js";
import { untilRead } from "../pages/live/reading.js";

/**
 * @import { AgentState, AgentStateFields, Connection, Frame, PendingAction, Plan, PlanStep } from "../stillhere.js"
 * @import { ServerConnection } from "./server-connection.js"
 * @import { View } from "./view.js"
 *
 * @typedef {{marked: (step: string, done: boolean) => void, dismissed: () => void,
 *   answered: (decision: "approve" | "reject") => void}} Acts
 * @typedef {{panel: AgentPanel, chat: Connection, view: View, connection: ServerConnection,
 *   saveState: (fields: AgentStateFields) => void}} Page
 */

const NARROW = "(max-width: 72rem)";

export class AgentPanel {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {AgentState | null} */
    this.state = null;
    /** The question that is shown. */
    this.asked = "";
    this.parts = {
      fold: byId("panel-fold", HTMLDetailsElement),
      progress: byId("panel-progress", HTMLProgressElement),
      note: byId("panel-note", HTMLInputElement),
      ...named(["question", "kind", "fields", "payload", "answer", "acts", "approve", "reject"]),
      ...named(["count", "title", "steps", "dismiss"]),
    };
    this.parts.fold.open = !matchMedia(NARROW).matches;
  }

  /** @param {Acts} acts */
  on({ marked, dismissed, answered }) {
    const { steps, dismiss, approve, reject } = this.parts;
    steps.addEventListener("change", ({ target }) => target instanceof HTMLInputElement && marked(target.value, target.checked));
    dismiss.addEventListener("click", dismissed);
    approve.addEventListener("click", () => answered("approve"));
    reject.addEventListener("click", () => answered("reject"));
  }

  /** @param {AgentState | null} state */
  show(state) {
    this.state = state;
    const plan = state?.plan;
    const question = state?.pending_action;
    this.root.hidden = !plan && !question;
    this.parts.fold.hidden = !plan;
    this.parts.question.hidden = !question;
    if (plan) this._plan(plan);
    if (question) this._question(question);
    else this.asked = "";
  }

  /** @param {Plan} plan */
  _plan({ title = "", steps = [] }) {
    const { count, title: heading, progress, steps: list } = this.parts;
    const done = steps.filter(({ status }) => status === "completed" || status === "skipped").length;
    heading.textContent = title;
    count.textContent = `${done} of ${steps.length}`;
    progress.max = Math.max(1, steps.length);
    progress.value = done;
    // Unchanged steps keep their elements, and so the focus.
    while (list.children.length > steps.length) list.lastElementChild?.remove();
    while (list.children.length < steps.length) list.append(this._step());
    for (const [index, step] of steps.entries()) this._fill(list.children[index], step);
  }

  _step() {
    const item = document.createElement("li");
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    label.append(box, document.createElement("span"));
    item.append(label);
    return item;
  }

  /** @param {Element} item @param {PlanStep} step */
  _fill(item, { id, title, status }) {
    const box = one(item, "input", HTMLInputElement);
    item.setAttribute("data-status", status);
    box.value = id;
    box.checked = status === "completed";
    one(item, "span", HTMLElement).textContent = title;
  }

  /** @param {PendingAction} asked */
  _question({ id, kind, payload, resolution, expires_at: expires = "" }) {
    const { acts, answer, question } = this.parts;
    const asked = JSON.stringify([id, kind, payload]);
    if (asked !== this.asked) this._ask(kind, payload ?? "");
    this.asked = asked;
    const over = Boolean(expires) && new Date(expires) <= new Date();
    if (resolution || over) this._leaveActs();
    acts.hidden = Boolean(resolution) || over;
    question.toggleAttribute("data-open", !acts.hidden);
    const note = resolution?.note ? ` – ${resolution.note}` : "";
    answer.textContent = resolution ? `${resolution.by}: ${resolution.decision}${note}` : over ? "It has expired." : "";
  }

  /** Another question gets no focus of a button and no note, and has to be read first. @param {string} kind @param {unknown} payload */
  _ask(kind, payload) {
    const { kind: chip, fields: list, payload: words, note, acts } = this.parts;
    const fields = payload instanceof Object && !Array.isArray(payload) ? Object.entries(payload) : [];
    this._leaveActs();
    chip.textContent = kind;
    note.value = "";
    list.replaceChildren(...fields.map(([name, value]) => field(name, written(value))));
    list.hidden = !fields.length;
    words.textContent = fields.length ? "" : written(payload);
    words.hidden = !words.textContent;
    holdButtons(acts);
  }

  _leaveActs() {
    const { question, acts } = this.parts;
    if (acts.contains(document.activeElement)) focusOn(question.querySelector("h2"));
  }
}

/** @param {unknown} value */
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** @param {string} name @param {string} value */
function field(name, value) {
  const [pair, term, words] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
  term.textContent = name;
  words.textContent = value;
  pair.append(term, words);
  return pair;
}

/** @template {string} Name @param {Name[]} names @returns {Record<Name, HTMLElement>} */
function named(names) {
  const found = names.map((name) => [name, byId(`panel-${name}`, HTMLElement)]);
  return /** @type {Record<Name, HTMLElement>} */ (Object.fromEntries(found));
}

/** What a person can do in the panel. @param {Page} page @returns {Acts} */
export function actsOf({ panel, chat, view, connection, saveState }) {
  return {
    marked(step, done) {
      const plan = panel.state?.plan ?? {};
      /** @type {PlanStep["status"]} */
      const status = done ? "completed" : "pending";
      const steps = plan.steps?.map((one) => (one.id === step ? { ...one, status } : one));
      saveState({ plan: { ...plan, steps } });
    },
    dismissed() {
      const plan = panel.state?.plan;
      saveState({ plan: null });
      view.toast("Plan dismissed.", () => {
        const another = panel.state?.plan;
        view.toast(another ? "Not undone: there is another plan by now." : "");
        if (!another) saveState({ plan });
      });
      view.focus();
    },
    async answered(decision) {
      const { id, kind = "", payload } = panel.state?.pending_action ?? {};
      try {
        const note = panel.parts.note.value.trim();
        const answer = await chat.resolveAction(decision, { action: id, note, seen: { kind, payload } });
        if (answer.late) view.toast(answer.resolution ? `${answer.resolution.by} answered before.` : "It has expired.");
        await showStored({ panel, chat });
        view.focus();
      } catch (error) {
        if (connection.failed(error)) return;
        view.alert(messageOf(error));
        // It may ask something else now.
        await showStored({ panel, chat }).catch(() => {});
      }
    },
  };
}

/** Reads the state and shows it, unless the chat has gone to another session meanwhile. @param {Pick<Page, "panel" | "chat">} page */
async function showStored({ panel, chat }) {
  const asked = chat.session?.id;
  const state = await chat.state();
  if (chat.session?.id === asked) panel.show(state);
}

/** Another page or agent changed the state in the panel. It is read when the page is visible. @param {Pick<Page, "panel" | "chat">} page */
export function followState({ panel, chat }) {
  const read = untilRead(() => showStored({ panel, chat }));
  const changed = (/** @type {Frame} */ { session }) => session === chat.session?.id && read();
  chat.on("PLAN_RESTORED", ({ data: plan }) => plan && panel.show({ ...panel.state, plan }));
  chat.on("AGENT_STATE_SAVED", changed);
  chat.on("PENDING_ACTION_RESOLVED", changed);
  chat.on("RESYNC", read);
}

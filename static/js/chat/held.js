/** What the agent holds, beside the chat: its plan, and what it asks. Text goes in as text, never as markup. */

const NARROW = "(max-width: 72rem)";

export class Held {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.state = null;
    this.parts = Object.fromEntries([...root.querySelectorAll("[id]")].map((part) => [part.id.replace("held-", ""), part]));
    this.parts.fold.open = !matchMedia(NARROW).matches;
  }

  /** @param {{marked: (step: string, done: boolean) => void, dismissed: () => void, answered: (decision: string) => void}} acts */
  on({ marked, dismissed, answered }) {
    const { steps, dismiss, approve, reject } = this.parts;
    steps.addEventListener("change", ({ target }) => marked(target.value, target.checked));
    dismiss.addEventListener("click", dismissed);
    approve.addEventListener("click", () => answered("approve"));
    reject.addEventListener("click", () => answered("reject"));
  }

  /** @param {import("../stillhere.js").AgentState | null} state */
  show(state) {
    this.state = state;
    const plan = state?.plan;
    const question = state?.pending_action;
    this.root.hidden = !plan && !question;
    this.parts.fold.hidden = !plan;
    this.parts.question.hidden = !question;
    if (plan) this._plan(plan);
    if (question) this._question(question);
  }

  _plan({ title = "", steps = [] }) {
    const { count, title: heading, progress, steps: list } = this.parts;
    const done = steps.filter(({ status }) => status === "completed" || status === "skipped").length;
    heading.textContent = title;
    count.textContent = `${done} of ${steps.length}`;
    progress.max = Math.max(1, steps.length);
    progress.value = done;
    // The same steps keep their elements, and with them the focus.
    while (list.children.length > steps.length) list.lastChild.remove();
    while (list.children.length < steps.length) list.append(this._step());
    steps.forEach((step, index) => {
      const [box, words] = list.children[index].firstChild.children;
      list.children[index].dataset.status = step.status;
      box.value = step.id;
      box.checked = step.status === "completed";
      words.textContent = step.title;
    });
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

  _question({ kind, payload, resolution, expires_at: expires }) {
    const { kind: chip, payload: words, acts, answer, question } = this.parts;
    const over = Boolean(expires) && new Date(expires) <= new Date();
    chip.textContent = kind;
    words.textContent = payload === undefined ? "" : typeof payload === "string" ? payload : JSON.stringify(payload, null, 2);
    acts.hidden = Boolean(resolution) || over;
    words.hidden = payload === undefined || acts.hidden;
    question.toggleAttribute("data-open", !acts.hidden);
    answer.textContent = resolution ? `${resolution.by}: ${resolution.decision}` : over ? "Its time is over." : "";
  }
}

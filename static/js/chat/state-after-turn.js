/** Reads a plan from an answer: the numbered lines are its steps, the text before them is its title. */

/** @import { AgentState, AgentStateFields, Plan, PlanStep } from "../stillhere.js" */

const STEP = /^\s*\d+[.)]\s+(.+)$/;
const LONGEST = 2000;

/** @param {string} text @param {Plan | undefined} former what was done stays done @returns {Plan | null} */
function planOf(text, former) {
  const lines = text.split("\n");
  const titles = lines.map((line) => STEP.exec(line)?.[1].trim().slice(0, LONGEST) ?? "").filter(Boolean);
  if (titles.length === 0) return null;
  const first = lines.find((line) => line.trim() !== "") ?? "";
  const statuses = new Map((former?.steps ?? []).map(({ title, status }) => [title, status]));
  /** @type {PlanStep[]} */
  const steps = titles.map((title, index) => ({ id: `s${index + 1}`, title, status: statuses.get(title) ?? "pending" }));
  return { title: STEP.test(first) ? "" : first.trim().slice(0, LONGEST), steps };
}

/**
 * The agent's state after a turn.
 * @param {{step: string, turns: number, text: string, failed: string | null, former: AgentState | null}} turn
 * @returns {AgentStateFields}
 */
export function stateAfter({ step, turns, text, failed, former }) {
  const plan = step === "plan" ? planOf(text, former?.plan) : null;
  const held = former?.context ?? {};
  // This page must not overwrite another agent's state of the same session.
  const own = Object.getPrototypeOf(held) === Object.prototype;
  return { context: own ? { ...held, step, turns } : held, last_error: failed, ...(plan ? { plan } : {}) };
}

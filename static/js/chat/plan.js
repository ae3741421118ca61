/** A plan out of an answer: its numbered lines are the steps, what stands before them is its title. */

const STEP = /^\s*\d+[.)]\s+(.+)$/;
const LONGEST = 2000;

/** @param {string} text @param {{steps?: {title: string, status: string}[]} | undefined} former what was done stays done */
export function planOf(text, former) {
  const lines = text.split("\n");
  const titles = lines.map((line) => STEP.exec(line)?.[1].trim().slice(0, LONGEST)).filter(Boolean);
  if (titles.length === 0) return null;
  const first = lines.find((line) => line.trim() !== "");
  const statuses = new Map((former?.steps ?? []).map(({ title, status }) => [title, status]));
  const steps = titles.map((title, index) => ({ id: `s${index + 1}`, title, status: statuses.get(title) ?? "pending" }));
  return { title: STEP.test(first) ? "" : first.trim().slice(0, LONGEST), steps };
}

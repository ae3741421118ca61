/** Finds the session that a page without one writes to, or creates it. */
import { within } from "../util.js";
import { inTurn } from "../web-locks.js";

/** @import { OpeningNeeds } from "../needs.d.ts" */

const MADE_MS = 5000;
const MOST_TRIES = 5;

export class SessionOpening {
  /** @param {OpeningNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** One tab at a time, so that two tabs do not both create one. */
  async findOrCreate() {
    const { identity, state, queue, retry, find, emit } = this.needs;
    await inTurn(`stillhere:create:${identity.scope}`, async () => {
      await this.othersMade();
      const found = await retry.untilAnswered(find, {
        wanted: () => !state.session,
        refused: (error) => emit("refused", { ...error.refusal, operations: [...queue.operations.values()] }),
      });
      if (found === false && !state.session) await this.create();
    });
  }

  /** Sessions that earlier pages began without the server are made first: what is said here goes on in the last one. */
  async othersMade() {
    const { state, outbox, drain, retry } = this.needs;
    for (let failures = 1; failures < MOST_TRIES && (await outbox.begun()); failures += 1) {
      if ((await drain()) || state.session || retry.closed) return;
      await retry.pause(failures);
    }
  }

  /** Resolves when it is made, or after this long. @param {number} [patience] milliseconds */
  async create(patience = MADE_MS) {
    const { identity, state, queue, made, begun } = this.needs;
    const openingStep = queue.newStep ?? "";
    const entry = queue.create();
    state.begin(identity.project, openingStep);
    begun();
    const created = made(entry);
    await queue.enqueue(entry);
    await within(created, patience);
  }
}

/** Appends to one stream, one request at a time and in order. */
import { ApiError } from "#module/server/http.js";

export class StreamWriter {
  /** @param {(method: string, where: string, body: object) => Promise<any>} send @param {string} id @param {number} offset of the next chunk */
  constructor(send, id, offset) {
    this.send = send;
    this.id = id;
    this.offset = offset;
    /** @type {Promise<unknown>} */
    this.last = Promise.resolve();
    /** Appends that were called before one of them failed fail with it: the stream gets no gap. @type {{error?: unknown}} */
    this.round = {};
    /** The last append had no answer: the stream may have its chunks. */
    this.unsure = false;
  }

  /** @param {readonly unknown[]} chunks texts, or objects such as the AI SDK's UI message chunks @returns {Promise<void>} */
  append(chunks) {
    if ("error" in this.round) this.round = {};
    const { round } = this;
    const sent = this.last.then(async () => {
      if ("error" in round) throw round.error;
      await this._append(chunks).catch((error) => {
        round.error = error;
        throw error;
      });
    });
    this.last = sent.catch(() => {});
    // One of its own: if a caller does not look at it, an unhandled rejection tells of the failure.
    return sent.then(() => {});
  }

  /** @param {{interrupted?: boolean}} [how] */
  async end({ interrupted = false } = {}) {
    await this.last;
    await this.send("POST", `/streams/${this.id}/end`, interrupted ? { interrupted } : {});
  }

  /** @param {readonly unknown[]} chunks */
  async _append(chunks) {
    const body = () => ({ offset: this.offset, chunks });
    const where = `/streams/${this.id}/chunks`;
    try {
      const answer = await this.send("POST", where, body()).catch((error) => {
        if (!this.unsure || !(error instanceof ApiError) || error.code !== "offset_conflict") throw error;
        this.offset = Number(error.details.offset);
        return this.send("POST", where, body());
      });
      this.offset = answer.offset;
      this.unsure = false;
    } catch (error) {
      this.unsure ||= error instanceof ApiError && error.passing;
      throw error;
    }
  }
}

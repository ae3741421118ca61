/** One file of the spool. */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** @typedef {{key: string, name: string, opening: object, ops: object[]}} Batch `name`: the session's external id */

/** Whole or not at all, and on the disk. @param {string} file @param {Batch & {why?: string}} batch */
export async function store(file, batch) {
  const begun = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(begun, "wx", 0o600);
    try {
      await handle.writeFile(JSON.stringify(batch));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(begun, file);
  } catch (error) {
    await rm(begun, { force: true }).catch(() => {});
    throw error;
  }
  const folder = await open(dirname(file), "r");
  await folder.sync().finally(() => folder.close());
}

/** @param {string} text @returns {Batch | null} null: the file is damaged */
export function batchIn(text) {
  try {
    const batch = JSON.parse(text);
    const isWhole = typeof batch.key === "string" && typeof batch.name === "string" && Array.isArray(batch.ops);
    return isWhole ? batch : null;
  } catch {
    return null;
  }
}

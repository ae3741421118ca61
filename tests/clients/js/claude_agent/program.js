#!/usr/bin/env node
// In place of the program that the SDK starts: it answers, mirrors its transcript, and reads it when it resumes.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const resumed = process.argv.find((each) => each.startsWith("--resume="))?.slice("--resume=".length);
const session =
  resumed ?? (process.argv.includes("--resume") ? process.argv[process.argv.indexOf("--resume") + 1] : randomUUID());
const home = process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), ".claude");
const file = join(home, "projects", process.cwd().replace(/[^a-zA-Z0-9]/g, "-"), `${session}.jsonl`);
const say = (message) => console.log(JSON.stringify(message));

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  if (given.type === "control_request") {
    say({ type: "control_response", response: { subtype: "success", request_id: given.request_id, response: {} } });
  } else if (given.type === "user") {
    const before = existsSync(file) ? readFileSync(file, "utf8") : "";
    const text = before.includes("San Francisco") ? "California" : "San Francisco";
    const messages = [given.message, { role: "assistant", content: [{ type: "text", text }] }];
    const same = { sessionId: session, cwd: process.cwd(), timestamp: "2026-01-01T00:00:00.000Z" };
    const entries = messages.map((message) => ({ type: message.role, uuid: randomUUID(), message, ...same }));
    say({ type: "transcript_mirror", filePath: file, entries });
    const times = { duration_ms: 1, duration_api_ms: 1, num_turns: 1, is_error: false };
    say({ type: "result", subtype: "success", session_id: session, result: text, ...times });
  }
}

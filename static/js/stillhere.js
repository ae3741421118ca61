/**
 * Stillhere in a browser: saves chats while they stream, and restores them after a reload or a crash.
 *
 *     import { connect } from "https://chat.example.org/static/js/stillhere.js";
 *     const chat = connect({ baseUrl: "https://chat.example.org", project: "/home/ana/shop", auth: { key: "sh_…" } });
 *     const { messages } = await chat.resume();
 *     chat.save([...messages, { id: "m1", role: "user", text: "Hello" }]);
 *
 * Types and events are in `stillhere.d.ts`.
 */
import { Connection } from "./stillhere/connection.js";
import { ApiError } from "./stillhere/server/http.js";
import { uuid } from "./stillhere/util.js";

/** @type {typeof import("./stillhere.js").connect} */
export function connect(options) {
  return new Connection(options);
}

export { ApiError, uuid };

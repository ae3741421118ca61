/** The browser module against its published types. The compiler reads this; nothing runs it. */

import { Connection } from "../../../static/js/stillhere/connection.js";
import { ApiError } from "../../../static/js/stillhere/server/http.js";
import { uuid } from "../../../static/js/stillhere/util.js";
import type * as published from "../../../static/js/stillhere.js";

/** All that is published is there, in this form. */
export const module: typeof published = { connect: (options) => new Connection(options), ApiError, uuid };

/** What is there and not published begins with an underscore. */
type Unpublished<Code, Published> = Exclude<keyof Code, keyof Published | `_${string}`>;
export const unpublished: Record<Unpublished<Connection, published.Connection>, never> = {};
export const unpublishedOfMemory: Record<
  Exclude<Unpublished<Connection["memory"], published.Memory>, InternalOfMemory>,
  never
> = {};
type InternalOfMemory = "http" | "project" | "id" | "reportErrors" | "context";

/** How a page uses it. */
export async function use(chat: published.Connection): Promise<void> {
  const { messages } = await chat.resume();
  chat.save([...messages, { id: "m1", role: "user", text: "Hello" }], { streaming: true });
  chat.on("cleared", ({ by, unsent }) => console.log(by, unsent[0]?.op));
  chat.on("SESSION_SAVED", (frame: published.Frame<{ title?: string }>) => console.log(frame.rev, frame.data?.title));
  chat.on("*", (_, type) => console.log(type));
  const entry = await chat.memory.get<{ theme: string }>("settings", "ui");
  await chat.memory.set("settings", "ui", { theme: entry?.value.theme ?? "dark" }, { ifMatch: entry?.etag ?? null });
  // @ts-expect-error: a misspelt event is no event.
  chat.on("restord", () => {});
  // @ts-expect-error: a role that the server refuses.
  chat.save([{ id: "m2", role: "robot", text: "Hello" }]);
}

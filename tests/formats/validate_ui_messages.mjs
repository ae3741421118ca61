// Reads a list of UI messages from standard input. Prints "valid", or why the AI SDK does not accept them.
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { convertToModelMessages, validateUIMessages } from "ai";

const messages = JSON.parse(await text(process.stdin));
try {
  const valid = await validateUIMessages({ messages });
  // What it does not know, it leaves out.
  const same = isDeepStrictEqual(JSON.parse(JSON.stringify(valid)), messages);
  await convertToModelMessages(valid);
  console.log(same ? "valid" : `changed: ${JSON.stringify(valid)}`);
} catch (error) {
  console.log(String(error));
}

/** Copies the browser module, which the server serves as it is, into the package. `--clean`: removes the copy. */
import { cpSync, rmSync } from "node:fs";

const source = new URL("../../static/js/", import.meta.url);
const copy = new URL("./browser/", import.meta.url);

rmSync(copy, { recursive: true, force: true });
if (!process.argv.includes("--clean")) {
  for (const name of ["stillhere.js", "stillhere.d.ts", "stillhere"]) {
    cpSync(new URL(name, source), new URL(name, copy), { recursive: true });
  }
}

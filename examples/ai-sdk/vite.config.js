import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { answer } from "./answers.js";

const {
  STILLHERE_URL: target = "http://127.0.0.1:8000",
  STILLHERE_KEY: key = "",
  STILLHERE_PROJECT: project = "/examples",
} = process.env;
const repository = (/** @type {string} */ path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export default defineConfig({
  define: { STORE: JSON.stringify({ url: "", key, project }) },
  plugins: [{ name: "answers", configureServer: ({ middlewares }) => void middlewares.use("/api/chat", answer) }],
  server: { proxy: { "/api/v1": target, "/ws": { target, ws: true } } },
  // The package as it is in this repository.
  resolve: {
    alias: {
      "stillhere/ai-sdk": repository("clients/js/src/ai-sdk/index.js"),
      "#browser": repository("static/js/stillhere.js"),
      "#module": repository("static/js/stillhere"),
    },
  },
});

import type { Sandbox } from "./sandbox.ts";

/**
 * Writes a configuration with one folder of modules into a sandbox. Its operations print when they load, and leave the file
 * `loaded`, so that a test notices that they ran.
 */
export function writeProject(sandbox: Sandbox, config: object = {}): void {
  const content = { sources: { notes: { modules: "./operations" } }, serve: { port: 0 }, ...config };
  sandbox.write("operations.config.json", JSON.stringify(content));
  sandbox.write(
    "operations/notes.mjs",
    `import { writeFileSync } from "node:fs";
    console.log("The module prints.");
    writeFileSync(new URL("../loaded", import.meta.url), "");
    const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
    const define = (name, type, description, input, outputSchema, handler) => ({
      namespace: "note", name, type, description, version: "1.0.0", accessControl: { requiredScopes: ["notes"] },
      inputSchema: object(input), outputSchema, handler,
    });
    const text = { type: "string" };
    export default [
      define("add", "mutation", "Adds a note.", { text }, object({ text }), ({ text }) => ({ text })),
      define("fail", "query", "Fails.", {}, text, () => { throw new Error("The disk is full."); }),
      define("wait", "query", "Ends when it is aborted.", {}, text, (_, { signal }) => new Promise((resolve) => {
        console.log("It waits.");
        signal.addEventListener("abort", () => { console.log("It was aborted."); resolve("late"); });
      })),
      define("ticks", "subscription", "Counts without an end.", {}, { type: "integer" }, async function* (_, { signal }) {
        try {
          for (let tick = 0; !signal.aborted; tick++) { yield tick; await new Promise(setImmediate); }
        } finally { console.log("The subscription ended."); }
      }),
    ];`,
  );
}

// One server of the hub bench, in its own process: `serveHTTP` alone, or a hub. `process.argv[2]` selects it, and
// `process.argv[3]` is a folder for files. It sends its port, and its CPU time whenever it receives a message.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bearerTokens, hashToken } from "../../dist/auth/index.js";
import { createHub } from "../../dist/hub/index.js";
import { createRegistry } from "../../dist/index.js";
import { listen } from "../../dist/node/index.js";
import { serveHTTP } from "../../dist/serve/http/index.js";

const [name, folder] = process.argv.slice(2);
const identity = { id: "ada", scopes: ["task"] };
const tokens = [{ hash: hashToken("a-token-of-the-bench-with-enough-characters"), identity }];

const source = `
  const text = { type: "string" };
  const integer = { type: "integer" };
  export default {
    namespace: "task", name: "create", version: "1.0.0", type: "mutation", description: "",
    inputSchema: { type: "object", properties: { title: text, priority: integer }, required: ["title", "priority"] },
    outputSchema: { type: "object", required: ["id"], properties: { id: text, title: text, priority: integer, done: { type: "boolean" } } },
    accessControl: { requiredScopes: ["task"] },
    handler: async ({ title, priority }) => ({ id: "task-1", title, priority, done: false }),
  };`;

async function startAlone() {
  const file = join(folder, "create.mjs");
  await writeFile(file, source);
  const { default: create } = await import(file);
  const authenticate = bearerTokens(tokens);
  return (await listen({ "/": serveHTTP(createRegistry({ operations: [create] }), { authenticate }) })).url;
}

async function startHub(history) {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, "create.mjs"), source);
  const config = {
    sources: { task: { modules: `./${name}` } },
    serve: { port: 0, http: true, mcp: false, websocket: false },
    access: { tokens },
    history,
  };
  return (await createHub(config, { folder })).url;
}

const start = {
  alone: startAlone,
  memory: () => startHub({}),
  file: () => startHub({ file: "./calls.db" }),
};

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send({ cpuMs: (user + system) / 1_000 });
});

process.send({ port: Number(new URL(await start[name]()).port) });

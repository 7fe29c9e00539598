/** Walks through servers. Clients that are not part of the package do not count. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { bearerTokens, hashToken } from "@alkdev/operations/auth";
import { createHub } from "@alkdev/operations/hub";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { root } from "../../scripts/subpaths.ts";
import type { ColdWalk, ScriptCoverage, Walk } from "./measure.ts";
import { input, registry } from "./operations.ts";

const token = "a-token-of-the-walk-with-enough-characters";
const tokens = [{ hash: hashToken(token), identity: { id: "ada", scopes: ["walk"] } }];

/** `POST /walk/echo` with a token, by a client of Node. Only the server counts. */
export async function startHTTP(): Promise<Walk> {
  const server = serveHTTP(registry, { authenticate: bearerTokens(tokens) });
  const listener = await listen({ "/": server });
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const call = async () => {
    const body = await new Promise<string>((resolve, reject) => {
      request(`${listener.url}/walk/echo`, { agent, method: "POST", headers }, (response) => {
        text(response).then(resolve, reject);
      })
        .on("error", reject)
        .end(JSON.stringify(input));
    });
    expectEcho(body);
  };
  const close = async () => {
    agent.destroy();
    await listener.close();
  };
  return { call, close };
}

/** A tool call over Streamable HTTP by the client of the SDK, in the current generation of the protocol. Only the server counts. */
export async function startMCP(): Promise<Walk> {
  const server = serveMCP(registry, { authenticate: bearerTokens(tokens) });
  const listener = await listen({ "/mcp": server });
  const client = new Client({ name: "walk", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${listener.url}/mcp`), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  const { name } = tools.find((tool) => tool.name.endsWith("echo"))!;
  const call = async () => expectEcho(JSON.stringify(await client.callTool({ name, arguments: input })));
  const close = async () => {
    await client.close();
    await listener.close();
  };
  return { call, close };
}

/** `operations call walk.echo text=hello --hub …` in a process of its own: the command and its client, with what loading runs. */
export async function startCallOfHub(): Promise<ColdWalk> {
  const folder = mkdtempSync(join(tmpdir(), "walk-"));
  writeFileSync(join(folder, "walk.mjs"), moduleSource);
  const config = { sources: { walk: { modules: "." } }, serve: { port: 0 }, access: { tokens } };
  const hub = await createHub(config, { folder });
  const coverage = join(folder, "coverage");
  const args = [join(root, "src/cli/main.ts"), "call", "walk.echo", `text=${input.text}`, "--hub", hub.url!];
  const env = { ...process.env, OPERATIONS_TOKEN: token, NODE_V8_COVERAGE: coverage };
  const run = async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, ...args], { env });
    expectEcho(stdout);
    const [file] = readdirSync(coverage);
    return JSON.parse(readFileSync(join(coverage, file!), "utf8")).result as ScriptCoverage[];
  };
  const close = async () => {
    await hub.close();
    rmSync(folder, { recursive: true });
  };
  return { run, close };
}

/** The module of the hub: `walk.echo` again. */
const moduleSource = `
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  export default {
    namespace: "walk", name: "echo", version: "1.0.0", type: "query", description: "Returns its input",
    inputSchema: text, outputSchema: text, accessControl: { requiredScopes: [] }, handler: async (value) => value,
  };`;

function expectEcho(response: string): void {
  if (!response.includes("hello")) throw new Error(`The call failed: ${response}`);
}

/** Walks through servers. Clients that are not part of the package do not count. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { bearerTokens, hashToken } from "@alkdev/operations/auth";
import { createHub } from "@alkdev/operations/hub";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { checkPositionals, parseArguments } from "../../src/cli/arguments.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { loadCommand } from "../../src/cli/commands.ts";
import { OutputStream } from "../../src/cli/output-stream.ts";
import type { Walk } from "./measure.ts";
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

/** `operations call walk.echo --input … --hub …`: the command, its client, and the hub. All of them count. */
export async function startCallOfHub(): Promise<Walk> {
  const folder = mkdtempSync(join(tmpdir(), "walk-"));
  writeFileSync(join(folder, "walk.mjs"), moduleSource);
  const config = { sources: { walk: { modules: "." } }, serve: { port: 0 }, access: { tokens } };
  const hub = await createHub(config, { folder });
  const environment = { OPERATIONS_TOKEN: token };
  const call = async () => {
    const command = await loadCommand("call");
    const args = ["walk.echo", "--input", JSON.stringify(input), "--hub", hub.url!];
    const { positionals, options, given } = parseArguments(args, command.options);
    checkPositionals("call", command, positionals);
    const printed: string[] = [];
    const target = {
      write(text: string, done: () => void) {
        printed.push(text);
        done();
      },
    };
    const stream = new OutputStream(target as never, environment, false);
    await command.run({
      positionals,
      given,
      options: options as CommandContext["options"],
      environment,
      folder,
      stdout: stream,
      stderr: stream,
      print: (text) => stream.write(text),
      signal: new AbortController().signal,
      operation: undefined,
    });
    expectEcho(printed.join(""));
  };
  const close = async () => {
    await hub.close();
    rmSync(folder, { recursive: true });
  };
  return { call, close };
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

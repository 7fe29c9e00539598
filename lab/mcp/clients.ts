/**
 * `npm run lab -- mcp-clients`: installs published MCP clients from npm, and lets each list and call the tools of a registry that
 * is served over HTTP and stdio: the clients of both versions of the SDK, the command line of the MCP Inspector in every
 * mode, under a Node that supports it, and mcporter.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client as SDKClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OlderHTTP } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { root } from "../../scripts/subpaths.ts";
import { startConformanceServer } from "./conformance-server.ts";
import { installPackage } from "./install.ts";
import { printTable } from "./table.ts";

/** The text that the tool `test_simple_text` returns. */
const expected = "This is a simple text response for testing.";
const platform = process.platform === "win32" ? "win" : process.platform;
const newerNode = `node-${platform}-${process.arch}`;

interface Client {
  name: string;
  /** Returns text with the names of the tools. */
  list: () => Promise<string>;
  /** Returns text with the result of `test_simple_text`. */
  call: () => Promise<string>;
}

const [inspector, mcporter] = await Promise.all([
  installPackage("mcp-clients/inspector", "@modelcontextprotocol/inspector@2.12.0", `${newerNode}@22.23.0`),
  installPackage("mcp-clients/mcporter", "mcporter@0.9.0"),
]);
const home = mkdtempSync(join(tmpdir(), "mcp-clients-"));
const server = await startConformanceServer();
const rows: string[][] = [];
let failures = 0;
try {
  for (const client of listClients(`${server.url}/mcp`)) {
    const results = [await client.list().catch(String), await client.call().catch(String)];
    const isFine = [results[0]!.includes("test_simple_text"), results[1]!.includes(expected)];
    if (!isFine.every(Boolean)) {
      failures += 1;
      console.log(`\n── ${client.name}\n${results.join("\n")}`);
    }
    rows.push([client.name, ...isFine.map((each) => (each ? "✓" : "✗"))]);
  }
} finally {
  await server.close();
  rmSync(home, { recursive: true, force: true });
}
printTable(["client", "list", "call"], rows);
console.log(`\n${rows.length - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

function listClients(url: string): Client[] {
  const node = join(inspector, "node_modules", newerNode, "bin", "node");
  const launcher = join(inspector, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  // Not by an environment variable, because clients start programs with a few variables of their own choice.
  const tsx = [fileURLToPath(import.meta.resolve("tsx/cli")), "--tsconfig", join(root, "tsconfig.json")];
  const program = [process.execPath, ...tsx, join(root, "lab/mcp/stdio-server.ts")];
  const command = (name: string, list: string[], call: string[]): Client => {
    return { name, list: () => run(list), call: () => run(call) };
  };
  const inspect = (name: string, target: string[], ...options: string[]): Client => {
    const base = [node, launcher, "--cli", ...target, ...options, "--method"];
    const call = [...base, "tools/call", "--tool-name", "test_simple_text"];
    return command(`inspector 2.12.0, ${name}`, [...base, "tools/list", "--strict"], call);
  };
  const porter = (name: string, ...place: string[]): Client => {
    const base = [process.execPath, join(mcporter, "node_modules/mcporter/dist/cli.js")];
    const call = [...base, "call", ...place, "test_simple_text"];
    return command(`mcporter 0.9.0, ${name}`, [...base, "list", ...place, "--schema"], call);
  };
  return [
    ...listSDKClients(new URL(url), program),
    ...["legacy", "auto", "modern"].flatMap((era) => [
      inspect(`HTTP, ${era}`, [url], "--protocol-era", era),
      inspect(`stdio, ${era}`, program, "--protocol-era", era),
    ]),
    porter("HTTP", "--http-url", url, "--allow-http"),
    porter("stdio", "--stdio", program.join(" ")),
  ];
}

function listSDKClients(url: URL, [command = "", ...args]: string[]): Client[] {
  const info = { name: "mcp-clients", version: "1.0.0" };
  const start = { command, args, stderr: "ignore" as const };
  const create = (name: string, connect: () => Promise<OlderClient | SDKClient>): Client => {
    const use = async (work: (client: OlderClient | SDKClient) => Promise<unknown>): Promise<string> => {
      const client = await connect();
      return JSON.stringify(await work(client).finally(() => client.close()));
    };
    const call = () => use((client) => client.callTool({ name: "test_simple_text", arguments: {} }));
    return { name: `SDK ${name}`, list: () => use((client) => client.listTools()), call };
  };
  const older = (name: string, createTransport: () => OlderHTTP | OlderStdio): Client =>
    create(`1.x, ${name}`, async () => {
      const client = new OlderClient(info);
      await client.connect(createTransport() as never);
      return client;
    });
  const newer = (name: string, createTransport: () => StreamableHTTPClientTransport | StdioClientTransport): Client[] =>
    (["legacy", "auto", { pin: "2026-07-28" }] as const).map((mode) =>
      create(`2.x, ${name}, ${typeof mode === "string" ? mode : "modern"}`, async () => {
        const client = new SDKClient(info, { versionNegotiation: { mode } });
        await client.connect(createTransport());
        return client;
      }),
    );
  return [
    older("HTTP", () => new OlderHTTP(url)),
    older("stdio", () => new OlderStdio(start)),
    ...newer("HTTP", () => new StreamableHTTPClientTransport(url)),
    ...newer("stdio", () => new StdioClientTransport(start)),
  ];
}

/** Returns everything that a command prints. */
function run([program, ...args]: string[]): Promise<string> {
  const env = { ...process.env, HOME: home, NO_COLOR: "1" };
  return new Promise((resolve) => {
    execFile(program!, args, { cwd: home, env, timeout: 60_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}

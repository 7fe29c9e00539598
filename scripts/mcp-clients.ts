/**
 * `npm run mcp-clients`: installs published MCP clients from npm, and lets each list and call the tools of a registry that
 * is served over HTTP and stdio: the command line of the MCP Inspector in every mode, under a Node that supports it, and
 * mcporter.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startConformanceServer } from "./mcp/conformance-server.ts";
import { installPackage } from "./mcp/install.ts";
import { printTable } from "./mcp/table.ts";
import { root } from "./subpaths.ts";

/** The text that the tool `test_simple_text` returns. */
const expected = "This is a simple text response for testing.";
const platform = process.platform === "win32" ? "win" : process.platform;
const newerNode = `node-${platform}-${process.arch}`;

interface Client {
  name: string;
  /** Arguments of a command that prints the names of the tools. */
  list: string[];
  /** Arguments of a command that prints the result of `test_simple_text`. */
  call: string[];
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
    const results = [await run(client.list), await run(client.call)];
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
  const program = [process.execPath, ...tsx, join(root, "scripts/mcp-stdio-server.ts")];
  const inspect = (name: string, target: string[], ...options: string[]): Client => {
    const command = [node, launcher, "--cli", ...target];
    return {
      name: `inspector 2.12.0, ${name}`,
      list: [...command, "--method", "tools/list", "--strict", ...options],
      call: [...command, "--method", "tools/call", "--tool-name", "test_simple_text", ...options],
    };
  };
  const porter = [process.execPath, join(mcporter, "node_modules/mcporter/dist/cli.js")];
  const place = ["--http-url", url, "--allow-http"];
  return [
    ...["legacy", "auto", "modern"].flatMap((era) => [
      inspect(`HTTP, ${era}`, [url], "--protocol-era", era),
      inspect(`stdio, ${era}`, program, "--protocol-era", era),
    ]),
    {
      name: "mcporter 0.9.0, HTTP",
      list: [...porter, "list", ...place, "--schema"],
      call: [...porter, "call", ...place, "test_simple_text"],
    },
    {
      name: "mcporter 0.9.0, stdio",
      list: [...porter, "list", "--stdio", program.join(" "), "--schema"],
      call: [...porter, "call", "--stdio", program.join(" "), "test_simple_text"],
    },
  ];
}

/** Returns everything that a command prints. */
function run([program, ...args]: string[]): Promise<string> {
  const env = { ...process.env, HOME: home, NO_COLOR: "1" };
  return new Promise((resolve) => {
    execFile(program!, args, { cwd: home, env, timeout: 60_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}

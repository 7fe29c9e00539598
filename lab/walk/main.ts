/**
 * `npm run lab -- walk <walk>`: lists the files and named functions of `src/` that one warm call uses, with all ends that the
 * package has in this process, or that a command runs in a process of its own.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/subpaths.ts";
import { listSources } from "../../test/package/imports.ts";
import { readOptions } from "../read-options.ts";
import { type Budget, budgets, exceeds } from "./budgets.ts";
import { findLongFunctions } from "./long-functions.ts";
import { type ColdWalk, measure, type Stops, subtract, toStops, type Walk } from "./measure.ts";
import { input, registry } from "./operations.ts";
import { startCallOfHub, startHTTP, startMCP } from "./servers.ts";
import { startImportedHTTP, startMCPProgram } from "./sources.ts";
import { startInProcess, startOverNATS, startOverRedis, startPort, startWebSocket } from "./transports.ts";

const walks: Record<string, { about: string; start(): Promise<Walk | ColdWalk> }> = {
  execute: { about: "registry.execute", start: () => startLocal("walk.echo") },
  nested: {
    about: "registry.execute of a handler that makes one context.call: all of it, and what the nested call adds",
    start: () => startLocal("walk.outer"),
  },
  "in-process": { about: "a call without a wire, both ends", start: startInProcess },
  port: { about: "a MessageChannel, both ends", start: startPort },
  websocket: { about: "a WebSocket, both ends", start: startWebSocket },
  nats: { about: "NATS, both ends", start: startOverNATS },
  redis: { about: "Redis, both ends", start: startOverRedis },
  http: { about: "serveHTTP with listen and bearerTokens, the server only", start: startHTTP },
  mcp: { about: "serveMCP with listen and bearerTokens, tools/call over HTTP, the server only", start: startMCP },
  "call-hub": { about: "the command `operations call` on a running hub, cold, the client only", start: startCallOfHub },
  "http-import": { about: "a GET of an OpenAPI source, the client only", start: startImportedHTTP },
  "mcp-stdio": { about: "a tool of an MCP program, the client only", start: startMCPProgram },
};

const help = `Usage: npm run lab -- walk [walk ...] [--list]

Counts the source files and named functions that the fourth call of an operation runs through, by precise coverage, and
fails if a walk is longer than its budget. Without names, also lists functions of more than 60 lines.

Walks (default: all):
${Object.entries(walks)
  .map(([name, { about }]) => `  ${name.padEnd(12)} ${about}`)
  .join("\n")}

  --list   print every file and function
  --help   print this`;

const { values, positionals } = readOptions(help, {
  allowPositionals: true,
  options: { list: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});

async function startLocal(id: "walk.echo" | "walk.outer"): Promise<Walk> {
  return { call: () => registry.execute(id, input), close: async () => {} };
}

async function measureWalk(name: string): Promise<Stops> {
  const walk = await walks[name]!.start();
  try {
    return "run" in walk ? toStops(await walk.run()) : await measure(walk.call);
  } finally {
    await walk.close();
  }
}

function print(name: string, stops: Stops): void {
  const found = { files: stops.size, functions: [...stops.values()].reduce((sum, names) => sum + names.length, 0) };
  const { max, target } = budgets[name] ?? {};
  const isTooLong = exceeds(found, max);
  const marks = [max && `at most ${format(max)}`, target && `target ${format(target)}`, isTooLong && "TOO LONG"];
  console.log([name.padEnd(22), format(found).padStart(8), ...marks.filter(Boolean)].join("  "));
  if (isTooLong) process.exitCode = 1;
  if (values.list) for (const [file, names] of stops) console.log(`  ${file}: ${names.join(", ")}`);
}

function format({ files, functions }: Budget): string {
  return `${files}/${functions}`;
}

function printLongFunctions(): void {
  console.log("\nFunctions of more than 60 lines:");
  for (const file of listSources()) {
    for (const { name, line, lines } of findLongFunctions(readFileSync(join(root, "src", file), "utf8"))) {
      console.log(`  src/${file}:${line} ${name}, ${lines} lines`);
    }
  }
}

const chosen = positionals.length > 0 ? positionals : Object.keys(walks);
const unknown = chosen.find((name) => !Object.hasOwn(walks, name));
if (unknown !== undefined) {
  console.error(`No walk is called "${unknown}".\n\n${help}`);
  process.exit(2);
}
for (const name of chosen) {
  const stops = await measureWalk(name);
  print(name, stops);
  if (name === "nested") print("nested beyond execute", subtract(stops, await measureWalk("execute")));
}
if (positionals.length === 0) printLongFunctions();

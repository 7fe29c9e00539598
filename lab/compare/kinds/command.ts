/** The `operations` command: its output, its exit codes, and the types that it writes. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../../chaos/random.ts";
import { toJSONText } from "../json-text.ts";
import { defineKind } from "../kind.ts";
import { commandOf, type Library } from "../library.ts";
import { anyInput, anyOperations, idOf, type Operation } from "../operations.ts";
import { anyDocument } from "./openapi.ts";

interface Sources {
  operations: Operation[];
  document: Record<string, unknown> | undefined;
}

function anySources(random: Random): Sources {
  const operations = anyOperations(random, 4, { form: "json" }).map((one): Operation => {
    // Modules are written as text, so their results are JSON.
    const action =
      one.action.do === "return"
        ? { ...one.action, as: "value" as const, value: toJSON(one.action.value) }
        : { do: "echo" as const };
    return { ...one, action, yields: one.yields?.map(toJSON) ?? [] };
  });
  return { operations, document: random.chance(0.3) ? anyDocument(random) : undefined };
}

function toJSON(value: unknown): unknown {
  return JSON.parse(toJSONText(value));
}

function moduleOf({ namespace, name, type, inputSchema, outputSchema, action, yields, more }: Operation): string {
  const { version = "1.0.0", description = "", ...rest } = more ?? {};
  const spec = {
    namespace,
    name,
    type,
    inputSchema,
    outputSchema,
    version,
    description,
    accessControl: { requiredScopes: [] },
    ...rest,
  };
  const result = action.do === "return" ? JSON.stringify(action.value) : "input";
  const handler =
    type === "subscription"
      ? `async function* () { yield* ${JSON.stringify(yields)}; }`
      : `async (input) => { if (input?.name === "fail") throw new Error("It failed."); return ${result}; }`;
  return `export default { ...${JSON.stringify(spec)}, handler: ${handler} };\n`;
}

function write(folder: string, { operations, document }: Sources): void {
  mkdirSync(join(folder, "operations"), { recursive: true });
  for (const [index, one] of operations.entries())
    writeFileSync(join(folder, `operations/${index}.mjs`), moduleOf(one));
  const sources = {
    local: { modules: "./operations" },
    ...(document !== undefined && { api: { openapi: "./api.json" } }),
  };
  writeFileSync(join(folder, "api.json"), JSON.stringify(document ?? {}));
  writeFileSync(join(folder, "operations.config.json"), JSON.stringify({ sources }));
}

async function withSources(sources: Sources, library: Library, runs: string[][]): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), "compare-"));
  try {
    write(folder, sources);
    const results = [];
    for (const args of runs) results.push({ args, ...(await runCommand(library, folder, args)) });
    return JSON.parse(JSON.stringify(results).replaceAll(folder, "<folder>"));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function runCommand(library: Library, cwd: string, args: string[]): Promise<object> {
  const env = {
    ...process.env,
    NO_COLOR: "1",
    HOME: cwd,
    XDG_STATE_HOME: cwd,
    XDG_CACHE_HOME: cwd,
    XDG_CONFIG_HOME: cwd,
    TZ: "UTC",
  };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [commandOf(library), ...args],
      { cwd, env, timeout: 60_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : (error as { code?: unknown }).code;
        resolve({ code, stdout: toLines(stdout), stderr: toLines(stderr) });
      },
    );
    child.stdin?.end();
  });
}

/** Lines, and JSON where a line is JSON, so that a difference is one line or one value. */
function toLines(text: string): unknown[] {
  return text.split("\n").map((line) => {
    if (!/^[[{]/.test(line)) return line;
    try {
      return JSON.parse(line);
    } catch {
      return line;
    }
  });
}

const config = ["--config", "operations.config.json"];

export const types = defineKind({
  name: "types",
  weight: 2,
  atMost: 60,
  generate: anySources,
  run: (sources, library) => withSources(sources, library, [["types", "-o", "-", ...config]]),
});

function anyRun(random: Random, { operations }: Sources): string[] {
  const operation = random.pick(operations);
  const id = random.chance(0.9) ? idOf(operation) : random.pick(["task.creat", "nothing", "task.create.x", ""]);
  const json = random.chance(0.5) ? ["--json"] : [];
  const input = toJSON(anyInput(random, operation.inputSchema));
  const pairs =
    typeof input === "object" && input !== null
      ? Object.entries(input).map(([name, value]) =>
          typeof value === "string" ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`,
        )
      : [];
  const inputs = random.chance(0.5) ? ["--input", JSON.stringify(input)] : pairs;
  const verb = operation.type === "subscription" && random.chance(0.8) ? "subscribe" : "call";
  return random
    .weighted<{ weight: number; make: () => string[] }>([
      {
        weight: 2,
        make: () => ["list", ...(random.chance(0.4) ? [random.pick(["create", "task", "zzz"])] : []), ...json],
      },
      { weight: 2, make: () => ["describe", id, ...json] },
      { weight: 6, make: () => [verb, id, ...inputs, ...json, ...(random.chance(0.2) ? ["--envelope"] : [])] },
      { weight: 1, make: () => ["call", id, "name=fail", ...json] },
      {
        weight: 1,
        make: () => ["call", id, ...inputs, random.pick(["--raw", "--jq=.", "--jq=.id", "--unknown", "--timeout=5s"])],
      },
      { weight: 1, make: () => [random.pick(["--help", "--version", "lisst", "doctor"])] },
    ])
    .make();
}

export const command = defineKind({
  name: "command",
  weight: 4,
  atMost: 100,
  generate: (random) => {
    const sources = anySources(random);
    return { ...sources, runs: Array.from({ length: 3 }, () => anyRun(random, sources)) };
  },
  run: ({ runs, ...sources }, library) =>
    withSources(
      sources,
      library,
      runs.map((args) =>
        args[0]!.startsWith("--") || args[0] === "doctor" || args[0] === "lisst" ? args : [...args, ...config],
      ),
    ),
});

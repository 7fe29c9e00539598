import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { median, shuffle } from "./measure.ts";
import type { Row } from "./table.ts";

const execute = promisify(execFile);
const rounds = 25;
const command = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

const operation = `export default {
  namespace: "task", name: "create", type: "mutation", version: "1.0.0", description: "Creates a task.",
  accessControl: { requiredScopes: [] }, inputSchema: { type: "object", properties: { title: { type: "string" } } },
  outputSchema: { type: "object", properties: { title: { type: "string" } } }, handler: ({ title }) => ({ title }),
};`;

/** Measures whole commands against an empty Node program, from the start of the process to its end. */
export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "operations-bench-"));
  const env = { ...process.env, XDG_STATE_HOME: folder };
  writeFileSync(join(folder, "empty.mjs"), "");
  writeFileSync(join(folder, "task.mjs"), operation);
  writeFileSync(join(folder, "operations.config.json"), '{ "sources": { "task": { "modules": "." } } }');
  const hub = spawn(
    process.execPath,
    [command, "serve", "--json", "--port", "0", "--config", "operations.config.json"],
    {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  try {
    const [line] = (await once(createInterface(hub.stdout), "line")) as [string];
    const { url }: { url: string } = JSON.parse(line);
    const programs = {
      empty: ["empty.mjs"],
      twin: ["empty.mjs"],
      help: [command, "--help"],
      input: [command, "call", "task.create", "--input", '{"title":"a"}', "--hub", url],
      pairs: [command, "call", "task.create", "title=a", "--hub", url],
    };
    const samples = Object.fromEntries(Object.keys(programs).map((name) => [name, [] as number[]]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, args] of shuffle(Object.entries(programs))) {
        const start = performance.now();
        await execute(process.execPath, args, { cwd: folder, env });
        samples[name]!.push(performance.now() - start);
      }
    }
    const ratioOf = (name: string) => median(samples[name]!.map((ms, round) => ms / samples["empty"]![round]!));
    const note = (name: string) =>
      `${median(samples[name]!).toFixed(1)} ms and ${median(samples["empty"]!).toFixed(1)} ms, twin ${ratioOf("twin").toFixed(3)}`;
    return [
      { work: "operations --help ÷ an empty program", ratio: ratioOf("help"), bar: 1.6, note: note("help") },
      { work: "operations call on a hub, --input ÷ empty", ratio: ratioOf("input"), bar: 2.5, note: note("input") },
      { work: "operations call on a hub, key=value ÷ empty", ratio: ratioOf("pairs"), bar: 2.5, note: note("pairs") },
    ];
  } finally {
    hub.kill("SIGINT");
    await once(hub, "exit");
    rmSync(folder, { recursive: true });
  }
}

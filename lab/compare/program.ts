/**
 * Runs the cases of a plan with one version of the package, in a process of its own, and writes a line of JSON per case.
 * Started by `./main.ts`.
 */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { Random } from "../chaos/random.ts";
import { describe } from "./describe.ts";
import type { Kind } from "./kind.ts";
import { kinds } from "./kinds/index.ts";
import { type Library, loadLibrary } from "./library.ts";
import type { Plan } from "./plan.ts";

/** Time after which a case counts as hanging. */
const limitMs = 60_000;

const { values } = parseArgs({
  options: {
    folder: { type: "string" },
    seed: { type: "string" },
    plan: { type: "string" },
    first: { type: "string", default: "0" },
    output: { type: "string" },
  },
});

/** What a case prints, and errors that nothing handles, belong to the case that runs. */
let noise: unknown[] = [];
process.on("unhandledRejection", (error) => noise.push({ unhandled: error }));
process.on("uncaughtException", (error) => noise.push({ uncaught: error }));
for (const name of ["log", "info", "warn", "error", "debug"] as const) {
  console[name] = (...args: unknown[]) => void noise.push({ [name]: args.map(String) });
}

// The end of the process also ends connections that a hanging case left open.
main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);

async function main(): Promise<void> {
  const library = await loadLibrary(values.folder!);
  const output = createWriteStream(values.output!);
  const plan: Plan = JSON.parse(values.plan!);
  const first = Number(values.first);
  for (const kind of kinds) {
    for (let index = first; index < first + (plan[kind.name] ?? 0); index++) {
      const started = performance.now();
      const result = await runCase(kind, index, library);
      const ms = performance.now() - started;
      if (!output.write(`${JSON.stringify({ kind: kind.name, index, ms, result })}\n`)) await once(output, "drain");
    }
  }
  output.end();
  await finished(output);
}

async function runCase(kind: Kind, index: number, own: Library): Promise<unknown> {
  noise = [];
  const generated = kind.generate(new Random(Number(values.seed)).fork(`${kind.name} ${index}`));
  let timer: NodeJS.Timeout | undefined;
  const result = await Promise.race([
    kind.run(generated, own).catch((error: unknown) => ({ failed: error })),
    new Promise((resolve) => {
      timer = setTimeout(() => resolve("The case does not end."), limitMs);
    }),
  ]);
  clearTimeout(timer);
  return describe(noise.length > 0 ? { result, noise } : { result }, { library: own.folder });
}

/**
 * `npm run lab -- compare`: runs the same generated cases with an earlier version of the package and with the working tree, and
 * compares what they return. A difference is a defect, or is in the list of expected ones with the reason.
 */
import { spawn } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { root } from "../../scripts/subpaths.ts";
import { Random } from "../chaos/random.ts";
import { readOptions } from "../read-options.ts";
import { expectations } from "./expected.ts";
import { judge, type Pair, type Verdict } from "./judge.ts";
import { kinds } from "./kinds/index.ts";
import { prepareCurrent, prepareReference, referenceCommit } from "./packages.ts";
import { type Plan, planCases } from "./plan.ts";
import { formatReport } from "./report.ts";

const help = `Usage: npm run lab -- compare [options]

Runs the same generated cases with the package of ${referenceCommit.slice(0, 7)} and with the working tree, and compares the results.

  --cases 12000    number of cases, distributed over the kinds
  --seed 1         the same seed yields the same cases
  --kind NAMES     only these kinds, separated by commas: ${kinds.map(({ name }) => name).join(", ")}
  --case N         run only this case of --kind, and print it with both results
  --first N        start each kind with this case
  --json FILE      write every difference to a file
  --help           print this

The first run builds the reference in ~/.cache/alkdev-operations/compare, which takes a minute and needs the network.
Exits with 1 when there is a difference that lab/compare/expected.ts does not explain.`;

const { values } = readOptions(help, {
  options: {
    cases: { type: "string", default: "12000" },
    seed: { type: "string", default: "1" },
    kind: { type: "string" },
    case: { type: "string" },
    first: { type: "string", default: "0" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const started = performance.now();
const home = mkdtempSync(join(tmpdir(), "compare-"));
try {
  process.exitCode = await main();
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function main(): Promise<number> {
  const names = values.kind?.split(",") ?? kinds.map(({ name }) => name);
  const chosen = kinds.filter(({ name }) => names.includes(name));
  if (chosen.length !== names.length) throw new Error(`--kind takes: ${kinds.map(({ name }) => name).join(", ")}`);
  const folders = { reference: prepareReference(console.log), current: prepareCurrent(console.log) };
  const isSingle = values.case !== undefined;
  const plan: Plan = isSingle ? { [names[0]!]: 1 } : planCases(chosen, Number(values.cases));
  const first = values.case ?? values.first;
  const outputs = await Promise.all(
    Object.entries(folders).map(([name, folder]) => runProgram(folder, plan, first, join(home, `${name}.ndjson`))),
  );
  if (isSingle) await printCase(names[0]!, Number(values.case), outputs);

  const verdicts: Verdict[] = [];
  for await (const pair of readPairs(outputs)) verdicts.push(judge(pair, expectations));
  const isWhole = values.kind === undefined && !isSingle;
  console.log(
    formatReport(
      verdicts,
      expectations.filter(({ kinds: own }) => isWhole || own.some((one) => names.includes(one))),
      isWhole,
    ),
  );
  console.log(`\nSeed ${values.seed}, ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  if (values.json !== undefined) {
    const different = verdicts.filter(({ expected, unexpected }) => expected.length + unexpected.length > 0);
    writeFileSync(values.json, `${JSON.stringify({ seed: values.seed, plan, different }, undefined, 1)}\n`);
  }
  return verdicts.some(({ unexpected }) => unexpected.length > 0) ? 1 : 0;
}

/** Runs the cases with one version. Returns the path of the results. */
function runProgram(folder: string, plan: Plan, first: string, output: string): Promise<string> {
  const program = join(root, "lab/compare/program.ts");
  const options = { folder, plan: JSON.stringify(plan), first, output, seed: values.seed };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(process.execPath, ["--import", "tsx", program, ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`The cases with ${folder} ended with ${code}.`));
    });
  });
}

/** Reads the results of both versions side by side. */
async function* readPairs([one, other]: readonly string[]): AsyncGenerator<Pair> {
  const others = createInterface({ input: createReadStream(other!) })[Symbol.asyncIterator]();
  for await (const line of createInterface({ input: createReadStream(one!) })) {
    const { kind, index, result: reference } = JSON.parse(line);
    const { value } = await others.next();
    const { ms, result: current } = JSON.parse(value);
    yield { kind, index, ms, reference, current };
  }
}

async function printCase(name: string, index: number, outputs: readonly string[]): Promise<void> {
  const generated = kinds
    .find((kind) => kind.name === name)!
    .generate(new Random(Number(values.seed)).fork(`${name} ${index}`));
  console.log(inspect(generated, { depth: 30, colors: process.stdout.isTTY }));
  for await (const { reference, current } of readPairs(outputs)) {
    console.log(
      `\nreference: ${JSON.stringify(reference, undefined, 1)}\n\ncurrent: ${JSON.stringify(current, undefined, 1)}\n`,
    );
  }
}

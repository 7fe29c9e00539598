import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { builtEntry } from "./built.ts";
import { median, shuffle } from "./measure.ts";
import type { Row } from "./table.ts";

const execute = promisify(execFile);
const rounds = 25;

const modules = {
  compiler: "typebox/compile",
  twin: "typebox/compile",
  package: builtEntry.href,
};

/** Measures the import of the package in fresh processes, without the start of the process. */
export async function run(): Promise<Row[]> {
  const samples: Record<keyof typeof modules, number[]> = { compiler: [], twin: [], package: [] };
  for (let round = 0; round < rounds; round++) {
    for (const name of shuffle(Object.keys(modules) as Array<keyof typeof modules>)) {
      samples[name].push(await timeImport(modules[name]));
    }
  }
  const compiler = median(samples.compiler);
  const ratioOf = (times: number[]) => median(times.map((ms, round) => ms / samples.compiler[round]!));
  return [
    {
      work: "importing the package ÷ typebox/compile",
      ratio: ratioOf(samples.package),
      bar: 1.2,
      note: `${median(samples.package).toFixed(1)} ms and ${compiler.toFixed(1)} ms, twin ${ratioOf(samples.twin).toFixed(3)}`,
    },
  ];
}

async function timeImport(specifier: string): Promise<number> {
  const program = `
    const start = performance.now();
    await import(${JSON.stringify(specifier)});
    console.log(performance.now() - start);`;
  const { stdout } = await execute(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: new URL("../..", import.meta.url),
  });
  return Number(stdout);
}

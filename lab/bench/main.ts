import { type ChildProcess, fork } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readOptions } from "../read-options.ts";
import { buildWhenStale } from "./build.ts";
import { formatTable, judge, type Row } from "./table.ts";

const help = `Usage: npm run bench -- [options] [name ...]

Runs the benches whose file name contains one of the names, or all of them, each in a process of its own, and
prints one table. Ratios are times a floor written by hand in the same run; "twin" is that floor measured once
more, and how far it is from 1 is the noise.

  --strict     exit with 1 when a bar was missed
  --no-build   measure dist as it is
  --list       print the names of the benches
  --help       print this`;

const { values, positionals } = readOptions(help, {
  allowPositionals: true,
  options: {
    strict: { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const names = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".bench.ts"))
  .map((file) => file.slice(0, -".bench.ts".length))
  .filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
  .sort();

let running: ChildProcess | undefined;
let interrupted = false;
process.on("SIGINT", () => {
  interrupted = true;
  running?.kill("SIGINT");
});

if (values.list) console.log(names.join("\n"));
else if (names.length === 0) {
  console.error(`No bench matches "${positionals.join('", "')}".`);
  process.exitCode = 1;
} else {
  if (!values["no-build"]) buildWhenStale();
  process.exitCode = await runAll(names);
}

async function runAll(names: readonly string[]): Promise<number> {
  const rows: Row[] = [];
  const crashed: string[] = [];
  for (const name of names) {
    console.log(`measuring ${name} …`);
    const found = await runBench(name);
    if (interrupted) break;
    if (found === undefined) crashed.push(name);
    else rows.push(...found);
  }
  if (rows.length > 0) console.log(`\n${formatTable(rows)}\n`);
  if (interrupted) return 130;
  for (const name of crashed) console.error(`${name} crashed`);
  const missed = rows.filter((row) => judge(row) === "missed");
  if (missed.length > 0) console.log(`${missed.length} of ${rows.length} figures missed their bar.`);
  return crashed.length > 0 || (values.strict && missed.length > 0) ? 1 : 0;
}

/** Runs a bench in its own process, so that optimizations for one bench do not slow the next. */
function runBench(name: string): Promise<Row[] | undefined> {
  const child = fork(
    fileURLToPath(new URL("child.ts", import.meta.url)),
    [new URL(`${name}.bench.ts`, import.meta.url).href],
    { execArgv: [...process.execArgv, "--expose-gc"] },
  );
  running = child;
  return new Promise((resolve) => {
    let rows: Row[] | undefined;
    child.on("message", (message) => {
      rows = message as Row[];
    });
    child.on("exit", () => resolve(rows));
  });
}

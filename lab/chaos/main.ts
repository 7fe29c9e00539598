/** `npm run lab -- chaos`: injects random faults for a while and reports violated guarantees. See docs/faults.md. */
import { existsSync, writeFileSync } from "node:fs";
import { checkHistory, type HistoryEvent, promiseWithPatience, readHistory } from "../../test/history/index.ts";
import { readOptions } from "../read-options.ts";
import { type TransportName, transportNames } from "./arena.ts";
import { goodToken } from "./operations.ts";
import { runChaos } from "./run-chaos.ts";
import { summarise } from "./summary.ts";

const help = `npm run lab -- chaos [options]

  --minutes <n>        duration, such as 0.5                                         [1]
  --seed <n>           seed of the random calls and faults                   [a new one]
  --transports <list>  of ${transportNames.join(", ").padEnd(49)}[all of them]
  --patience <n>       factor for all time limits, for a busy machine                [1]
  --log <file>         writes all events to a file, as lines of JSON
  --check <file>       checks such a file, and runs nothing
  --help

Ctrl-C ends early, cleans up and reports the results. Exits with 1 if a guarantee was violated.`;

/** Maximum time to close everything, in ms. A run that does not end is also a violation. */
const closeTimeout = 240_000;

const { values } = readOptions(help, {
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string" },
    transports: { type: "string" },
    patience: { type: "string", default: "1" },
    log: { type: "string" },
    check: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const patience = toNumber("patience", values.patience, Number.MIN_VALUE);
if (values.check === undefined) await run();
else if (existsSync(values.check)) judge(readHistory([values.check]));
else fail(`The file ${values.check} does not exist. Create one with --log.`);

async function run(): Promise<void> {
  const minutes = toNumber("minutes", values.minutes, Number.MIN_VALUE);
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : toNumber("seed", values.seed, 0);
  const transports = toTransports(values.transports);
  const again = `seed ${seed}: npm run lab -- chaos --seed ${seed} --minutes ${minutes} --transports ${transports.join(",")}`;
  console.log(again);
  const started = performance.now();
  const watchdog = setTimeout(
    () => {
      console.log("The run did not end.");
      process.exit(1);
    },
    minutes * 60_000 + closeTimeout,
  );

  const history = await runChaos({
    duration: minutes * 60_000,
    seed,
    transports,
    signal: createInterrupt(),
    onProgress: (line) =>
      console.log(`${String(Math.round((performance.now() - started) / 1_000)).padStart(5)} s  ${line}`),
  });

  clearTimeout(watchdog);
  if (values.log !== undefined)
    writeFileSync(values.log, history.map((event) => `${JSON.stringify(event)}\n`).join(""));
  judge(history);
  console.log(again);
  // This timer does not keep the process alive. It fires only if something else does.
  setTimeout(() => {
    console.log(`Something keeps this process alive: ${process.getActiveResourcesInfo().join(", ")}`);
    process.exit(1);
  }, 30_000).unref();
}

function judge(history: readonly HistoryEvent[]): void {
  const violations = checkHistory(history, { ...promiseWithPatience(patience), secrets: [goodToken] });
  console.log(`\n${summarise(history, violations)}`);
  if (violations.length > 0) process.exitCode = 1;
}

/** Returns a signal that fires at the first Ctrl-C. The second Ctrl-C ends the process immediately. */
function createInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.on("SIGINT", () => {
    if (controller.signal.aborted) process.exit(130);
    console.log("\nEnding early. Press Ctrl-C again to exit immediately.");
    controller.abort();
  });
  return controller.signal;
}

function toNumber(name: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isFinite(number) && number >= least) return number;
  return fail(`--${name} must be a number${least > 0 ? " above 0" : ""}, not "${text}".`);
}

function toTransports(list: string | undefined): TransportName[] {
  const names = list?.split(",") ?? [...transportNames];
  const unknown = names.find((name) => !transportNames.includes(name as TransportName));
  return unknown === undefined
    ? (names as TransportName[])
    : fail(`The transport "${unknown}" does not exist.\n\n${help}`);
}

function fail(message: string): never {
  console.log(message);
  process.exit(2);
}

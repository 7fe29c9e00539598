/** `npm run lab -- soak`: repeats the same work very often on each transport, to detect leaks. */

import { readOptions } from "../read-options.ts";
import { runSoaks } from "./run-soaks.ts";
import { soaks } from "./soaks.ts";
import { formatSoaks } from "./table.ts";
import { transportNames } from "./transports.ts";

const help = `Usage: npm run lab -- soak [options]

Runs every soak on every transport, with client, server and broker in separate processes, and prints one table.
Exits with 1 when a bound was missed.

  --transports a,b  ${transportNames.join(", ")}
  --only a,b        only these soaks
  --scale 0.1       factor for the numbers below (default 1)
  --help            print this

Soaks:
${soaks.map(({ name, count, about }) => `  ${name.padEnd(14)} ${count.toLocaleString("en").padStart(9)}  ${about}`).join("\n")}
  close                     nothing remains after closing, and processes exit without being killed`;

const { values } = readOptions(help, {
  options: {
    transports: { type: "string", default: transportNames.join(",") },
    only: { type: "string", default: soaks.map(({ name }) => name).join(",") },
    scale: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
});

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message);
  return 1;
});

async function main(): Promise<number> {
  const transports = choose("transport", values.transports, transportNames);
  const names = choose(
    "soak",
    values.only,
    soaks.map(({ name }) => name),
  );
  const scale = Number(values.scale);
  if (!(scale > 0)) throw new TypeError("--scale must be a number above 0.");

  const interruption = new AbortController();
  process.once("SIGINT", () => interruption.abort());
  const { signal } = interruption;
  const rows = await runSoaks({ transports, names, scale, signal, onLine: (line) => console.log(line) });
  console.log(`\n${formatSoaks(rows)}`);
  if (signal.aborted) return 130;
  return rows.some(({ problems }) => problems.length > 0) ? 1 : 0;
}

function choose<Name extends string>(what: string, text: string, known: readonly Name[]): Name[] {
  const wanted = text.split(",").map((name) => name.trim());
  const unknown = wanted.find((name) => !known.some((other) => other === name));
  if (unknown !== undefined) throw new TypeError(`No ${what} is called "${unknown}". There are: ${known.join(", ")}.`);
  return known.filter((name) => wanted.includes(name));
}

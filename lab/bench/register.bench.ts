import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./measure.ts";
import type { Registered } from "./register-child.ts";
import type { Row } from "./table.ts";

const rounds = 7;

/** Measures 10,000 registrations in a fresh process with cold code, as in a program that starts. */
export async function run(): Promise<Row[]> {
  const results: Registered[] = [];
  for (let round = 0; round < rounds; round++) results.push(await registerInChild());
  const times = results.map(({ ms }) => ms);
  return [
    {
      work: "registering 10,000 operations",
      ratio: median(times),
      unit: "ms",
      bar: 100,
      aim: 80,
      note: `from ${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)} ms; setting them in a Map ${median(results.map(({ mapMs }) => mapMs)).toFixed(1)} ms`,
    },
    {
      work: "heap of one operation beyond its schemas",
      ratio: median(results.map(({ heapBytes }) => heapBytes)) / 1024,
      unit: "KiB",
      bar: 1.05,
      note: `of which the definition itself ${(median(results.map(({ definitionBytes }) => definitionBytes)) / 1024).toFixed(2)} KiB`,
    },
    {
      work: "functions compiled by registering",
      ratio: Math.max(...results.map(({ compiled }) => compiled)),
      unit: "",
      bar: 0,
    },
  ];
}

function registerInChild(): Promise<Registered> {
  const child = fork(fileURLToPath(new URL("register-child.ts", import.meta.url)));
  return new Promise((resolve, reject) => {
    child.on("message", (message) => resolve(message as Registered));
    child.on("exit", (code) => reject(new Error(`registering ended with exit code ${code}`)));
  });
}

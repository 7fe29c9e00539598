import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./measure.ts";
import type { Searched } from "./search-child.ts";
import { count, queries } from "./search-documents.ts";
import type { Row } from "./table.ts";

const rounds = 5;

/** Measures searches in 10,000 operations, in fresh processes. */
export async function run(): Promise<Row[]> {
  const searched: Searched[] = [];
  for (let round = 0; round < rounds; round++) searched.push(await searchInChild());
  const row = (work: string, read: (searched: Searched) => number, bars: Pick<Row, "bar" | "aim">, note = ""): Row => {
    return { work, ratio: median(searched.map(read)), unit: "ms", ...bars, note };
  };
  const searchRow = (work: string, name: keyof typeof queries, bars: Pick<Row, "bar" | "aim"> = {}) =>
    row(`searching "${queries[name]}", ${work}`, ({ times }) => times[name], bars, `${searched[0]!.found[name]} found`);
  return [
    row(`first search in ${count.toLocaleString("en")} operations`, ({ index }) => index, { bar: 450 }),
    searchRow("in most operations", "common", { bar: 90, aim: 40 }),
    searchRow("in four of them", "rare"),
    searchRow("as users write", "typical"),
  ];
}

function searchInChild(): Promise<Searched> {
  const child = fork(fileURLToPath(new URL("search-child.ts", import.meta.url)));
  return new Promise((resolve, reject) => {
    child.on("message", (message) => resolve(message as Searched));
    child.on("exit", (code) => reject(new Error(`The search ended with exit code ${code}.`)));
  });
}

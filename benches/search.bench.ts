import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./measure.ts";
import type { Searched } from "./search-child.ts";
import { count, queries } from "./search-documents.ts";
import type { Row } from "./table.ts";

const rounds = 5;

/** Measures searches in 10,000 operations, in fresh processes, beside MiniSearch with the same documents. */
export async function run(): Promise<Row[]> {
  const ours: Searched[] = [];
  const theirs: Searched[] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await searchInChild("registry"));
    theirs.push(await searchInChild("minisearch"));
  }
  const row = (work: string, read: (searched: Searched) => number, bars: Pick<Row, "bar" | "aim">, found = ""): Row => {
    const [own, mini] = [median(ours.map(read)), median(theirs.map(read))];
    const note = `${(own / mini).toFixed(2)} × MiniSearch (${mini.toFixed(2)} ms)${found}`;
    return { work, ratio: own, unit: "ms", ...bars, note };
  };
  const searchRow = (work: string, name: keyof typeof queries, bars: Pick<Row, "bar" | "aim"> = {}) => {
    const found = `; ${ours[0]!.found[name]} found, MiniSearch ${theirs[0]!.found[name]}`;
    return row(`searching "${queries[name]}", ${work}`, ({ times }) => times[name], bars, found);
  };
  return [
    row(`first search in ${count.toLocaleString("en")} operations`, ({ index }) => index, { bar: 450 }),
    searchRow("in most operations", "common", { bar: 90, aim: 40 }),
    searchRow("in four of them", "rare"),
    searchRow("as users write", "typical"),
  ];
}

function searchInChild(engine: "registry" | "minisearch"): Promise<Searched> {
  const child = fork(fileURLToPath(new URL("search-child.ts", import.meta.url)), [engine]);
  return new Promise((resolve, reject) => {
    child.on("message", (message) => resolve(message as Searched));
    child.on("exit", (code) => reject(new Error(`The search with ${engine} ended with exit code ${code}.`)));
  });
}

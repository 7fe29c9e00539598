import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./measure.ts";
import type { Imported } from "./openapi-import-child.ts";
import type { Row } from "./table.ts";

const rounds = 7;

/** Measures the import of GitHub's document (12.7 MB, 1,223 operations) in a fresh process. */
export async function run(): Promise<Row[]> {
  const document = fileURLToPath(import.meta.resolve("@octokit/openapi/generated/api.github.com.json"));
  const results: Imported[] = [];
  for (let round = 0; round < rounds; round++) results.push(await importInChild(document));
  const of = (figure: (result: Imported) => number) => median(results.map(figure));
  const { operations } = results[0]!;
  return [
    {
      work: `importing ${operations} operations against 2 × JSON.parse + 300 ms`,
      ratio: of(({ importMs, parseMs }) => importMs / (2 * parseMs + 300)),
      bar: 1,
      note: `CPU time from text ${of(({ importMs }) => importMs).toFixed(0)} ms, JSON.parse alone ${of(({ parseMs }) => parseMs).toFixed(0)} ms`,
    },
    {
      work: "heap of document and operations against the parsed document",
      ratio: of(({ importedBytes, documentBytes }) => importedBytes / documentBytes),
      bar: 2,
      note: `parsed document ${(of(({ documentBytes }) => documentBytes) / 2 ** 20).toFixed(1)} MiB`,
    },
    {
      work: "functions compiled by importing",
      ratio: Math.max(...results.map(({ compiled }) => compiled)),
      unit: "",
      bar: 0,
    },
  ];
}

function importInChild(document: string): Promise<Imported> {
  const child = fork(fileURLToPath(new URL("openapi-import-child.ts", import.meta.url)), [document]);
  return new Promise((resolve, reject) => {
    child.on("message", (message) => resolve(message as Imported));
    child.on("exit", (code) => reject(new Error(`importing ended with exit code ${code}`)));
  });
}

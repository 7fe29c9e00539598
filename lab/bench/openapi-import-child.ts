import { readFileSync } from "node:fs";
import { importBuilt } from "./built.ts";
import { median, sink } from "./measure.ts";

/** Cost of importing one document in a fresh process. */
export interface Imported {
  /** CPU time of `JSON.parse` on its text. */
  parseMs: number;
  /** CPU time from text to operations. */
  importMs: number;
  operations: number;
  /** Heap of the parsed document alone, and of document and operations. */
  documentBytes: number;
  importedBytes: number;
  /** Number of functions that were compiled from strings. */
  compiled: number;
}

const { FromOpenAPI, parseOpenAPI } =
  await importBuilt<typeof import("../../src/from/openapi/index.ts")>("from/openapi/index.js");

const text = readFileSync(process.argv[2]!, "utf8");
const config = { namespace: "github", onReport: () => {} };

// Measure times first, with cold code, because a program imports once.
const parseMs = timeOfParsing();
const compiled = countCompiled();
const started = readCPUTime();
const operations = await countImported();
const importMs = readCPUTime() - started;

const message: Imported = { parseMs, importMs, operations, compiled: compiled(), ...weigh() };
process.send!(message, () => process.exit(0));

/** A separate function, so that its objects are released before the heap is measured. */
async function countImported(): Promise<number> {
  return FromOpenAPI(await parseOpenAPI(text), config).length;
}

function weigh() {
  const empty = heapUsed();
  const document = JSON.parse(text);
  const parsed = heapUsed();
  sink.last = [document, FromOpenAPI(document, config)];
  const imported = heapUsed();
  sink.last = undefined;
  return { documentBytes: parsed - empty, importedBytes: imported - empty };
}

function timeOfParsing(): number {
  const times = Array.from({ length: 5 }, () => {
    const start = readCPUTime();
    sink.last = JSON.parse(text);
    return readCPUTime() - start;
  });
  sink.last = undefined;
  return median(times);
}

/** Returns the CPU time of this process, in ms. */
function readCPUTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function heapUsed(): number {
  for (let round = 0; round < 4; round++) globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

function countCompiled(): () => number {
  const original = globalThis.Function;
  let count = 0;
  globalThis.Function = new Proxy(original, {
    apply: (target, self, args) => {
      count++;
      return Reflect.apply(target, self, args);
    },
    construct: (target, args) => {
      count++;
      return Reflect.construct(target, args);
    },
  });
  return () => count;
}

import { strictEqual } from "node:assert/strict";
import { importBuilt, operations } from "./built.ts";
import { readCPUTime } from "./measure.ts";
import { identity, numberedOperation } from "./task-operation.ts";

/** Cost of the OpenAPI document of 1,000 operations in a fresh process. */
export interface DocumentCost {
  /** CPU time of the first request, in ms. Includes the compilation of our own code, which is cold. */
  firstMs: number;
  /** CPU time of each following request, in ms. */
  nextMs: number;
  /** Length of the document in bytes. */
  bytes: number;
}

const { serveHTTP } = await importBuilt<typeof import("../../src/serve/http/index.ts")>("serve/http/index.js");

const repeats = 50;
const registry = new operations.OperationRegistry();
for (let index = 0; index < 1_000; index++) registry.register(numberedOperation(index));
const server = serveHTTP(registry, { authenticate: () => identity });

// The host checks the request before the document is needed, so a call warms up the code that both share.
await request("/unknown");
const started = readCPUTime();
const { length } = await request("/openapi.json");
const firstMs = readCPUTime() - started;
const again = readCPUTime();
for (let count = 0; count < repeats; count++) strictEqual((await request("/openapi.json")).length, length);
const nextMs = (readCPUTime() - again) / repeats;

const message: DocumentCost = { firstMs, nextMs, bytes: length };
process.send!(message, () => process.exit(0));

async function request(path: string): Promise<string> {
  const response = await server.fetch(new Request(`http://127.0.0.1${path}`));
  return response.text();
}

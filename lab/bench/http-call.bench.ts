import { deepStrictEqual } from "node:assert/strict";
import createClient from "openapi-fetch";
import type { OpenAPISpec } from "../../src/from/openapi/index.ts";
import { importBuilt, operations } from "./built.ts";
import { startLoopback } from "./loopback.ts";
import { type Block, formatNoise, type Measurement, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

const { FromOpenAPI } = await importBuilt<typeof import("../../src/from/openapi/index.ts")>("from/openapi/index.js");

const item = { id: 7, name: "Lamp", price: 19.5, tags: ["home", "light"], stock: { berlin: 3, lima: 0 } };

const document: OpenAPISpec = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1.0.0" },
  paths: {
    "/items/{id}": {
      get: {
        operationId: "getItem",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "integer" } },
          { name: "lang", in: "query", schema: { type: "string" } },
        ],
        responses: {
          "200": {
            description: "The item",
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  required: ["id", "name", "price"],
                  properties: {
                    id: { type: "integer" },
                    name: { type: "string" },
                    price: { type: "number" },
                    tags: { type: "array", items: { type: "string" } },
                    stock: { type: "object", additionalProperties: { type: "integer" } },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};

/** The document as the types that openapi-fetch requires. */
interface Paths {
  "/items/{id}": {
    get: {
      parameters: { path: { id: number }; query: { lang?: string } };
      responses: { 200: { content: { "application/json": typeof item } } };
    };
  };
}

/**
 * Measures an imported call on loopback against handwritten `fetch` and `response.json()`, and against openapi-fetch.
 */
export async function run(): Promise<Row[]> {
  const body = JSON.stringify(item);
  const server = await startLoopback(
    `(request, response) => { response.setHeader("content-type", "application/json"); response.end(${JSON.stringify(body)}); }`,
  );
  const registry = new operations.OperationRegistry();
  registry.registerAll(FromOpenAPI(document, { namespace: "shop", baseUrl: server.origin }));
  registry.registerAll(FromOpenAPI(document, { namespace: "timed", baseUrl: server.origin, timeout: 10_000 }));
  const caller = new AbortController().signal;

  const byHand: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) {
      const url = `${server.origin}/items/${encodeURIComponent(7)}?lang=${encodeURIComponent("de")}`;
      const response = await fetch(url, { headers: { accept: "application/json" } });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      last = { data: await response.json() };
    }
    return last;
  };
  const byHandTimed: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) {
      const url = `${server.origin}/items/${encodeURIComponent(7)}?lang=${encodeURIComponent("de")}`;
      const signal = AbortSignal.any([caller, AbortSignal.timeout(10_000)]);
      const response = await fetch(url, { headers: { accept: "application/json" }, signal });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      last = { data: await response.json() };
    }
    return last;
  };
  const imported: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) last = await registry.execute("shop.getItem", { id: 7, lang: "de" });
    return last;
  };
  const importedTimed: Block = async (times) => {
    let last: unknown;
    const options = { signal: caller };
    for (let count = 0; count < times; count++) {
      last = await registry.execute("timed.getItem", { id: 7, lang: "de" }, options);
    }
    return last;
  };

  const client = createClient<Paths>({ baseUrl: server.origin, headers: { accept: "application/json" } });
  const peer: Block = async (times) => {
    let last: unknown;
    const params = { path: { id: 7 }, query: { lang: "de" } };
    for (let count = 0; count < times; count++) last = await client.GET("/items/{id}", { params });
    return last;
  };
  const peerTimed: Block = async (times) => {
    let last: unknown;
    const params = { path: { id: 7 }, query: { lang: "de" } };
    for (let count = 0; count < times; count++) {
      const signal = AbortSignal.any([caller, AbortSignal.timeout(10_000)]);
      last = await client.GET("/items/{id}", { params, signal });
    }
    return last;
  };

  for (const block of [byHand, byHandTimed, imported, importedTimed, peer, peerTimed]) {
    deepStrictEqual(((await block(1)) as { data: unknown }).data, item);
  }
  // At a few thousand calls per second, the default time would not be enough for the optimizer.
  const options = { blockTime: 40, rounds: 41, warmUp: 2000 };
  const plain = await measure(byHand, { imported, peer }, options);
  const timed = await measure(byHandTimed, { imported: importedTimed, peer: peerTimed }, options);
  await server.close();
  return [...toRows("one imported HTTP call", plain), ...toRows("the same with signal and timeout", timed)];
}

function toRows(work: string, measured: Measurement<"imported" | "peer">): Row[] {
  const { imported, peer } = measured.cases;
  const byHand = `fetch by hand ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return [
    { work, ratio: imported.ratio, bar: 1.1, aim: 1, note: `${formatTime(imported.ns)}, ${byHand}` },
    {
      work: `${work} ÷ openapi-fetch`,
      ratio: imported.ratio / peer.ratio,
      bar: 1,
      note: `${formatTime(peer.ns)}, ${peer.ratio.toFixed(2)} × by hand`,
    },
  ];
}

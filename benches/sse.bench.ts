import { deepStrictEqual } from "node:assert/strict";
import { createParser } from "eventsource-parser";
import type { OpenAPISpec } from "../src/from/openapi/index.ts";
import { importBuilt, operations } from "./built.ts";
import { startLoopback } from "./loopback.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

const { FromOpenAPI } = await importBuilt<typeof import("../src/from/openapi/index.ts")>("from/openapi/index.js");

const events = 100_000;

const document: OpenAPISpec = {
  openapi: "3.1.0",
  info: { title: "Ticker", version: "1.0.0" },
  paths: {
    "/ticks": {
      get: {
        operationId: "ticks",
        responses: {
          "200": { description: "Ticks", content: { "text/event-stream": { schema: { type: "string" } } } },
        },
      },
    },
  },
};

/** How fast 100,000 small events come through `subscribe`, against the parser alone on the same connection. */
export async function run(): Promise<Row[]> {
  const server = await startLoopback(`(request, response) => {
    response.setHeader("content-type", "text/event-stream");
    response.end("data: tick of the market\\n\\n".repeat(${events}));
  }`);
  const registry = new operations.OperationRegistry();
  registry.registerAll(FromOpenAPI(document, { namespace: "market", baseUrl: server.origin }));

  const parserAlone: Block = async (times) => {
    let count = 0;
    for (let time = 0; time < times; time++) {
      const response = await fetch(`${server.origin}/ticks`, { headers: { accept: "text/event-stream" } });
      const decoder = new TextDecoder();
      const parser = createParser({
        onEvent: () => {
          count++;
        },
      });
      const reader = response.body!.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        parser.feed(decoder.decode(part.value, { stream: true }));
      }
    }
    return count / times;
  };
  const subscribed: Block = async (times) => {
    let count = 0;
    for (let time = 0; time < times; time++) {
      for await (const _ of operations.subscribe(registry, "market.ticks", {})) count++;
    }
    return count / times;
  };

  for (const block of [parserAlone, subscribed]) deepStrictEqual(await block(1), events);
  const measured = await measure(parserAlone, { subscribed }, { rounds: 21, blockTime: 100 });
  await server.close();
  const { ns, ratio } = measured.cases.subscribed;
  const rate = (time: number) => `${((events / time) * 1000).toFixed(2)} million/s`;
  return [
    {
      work: "100,000 events of a stream",
      ratio,
      bar: 1 / 0.7,
      aim: 1.2,
      note: `${formatTime(ns)}, ${rate(ns)}; parser alone ${rate(measured.floor.ns)}, ${formatNoise(measured)}`,
    },
  ];
}

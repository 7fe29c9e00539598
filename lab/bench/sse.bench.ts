import { deepStrictEqual } from "node:assert/strict";
import { createParser } from "eventsource-parser";
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { OpenAPISpec } from "../../src/from/openapi/index.ts";
import { importBuilt, operations } from "./built.ts";
import { startLoopback } from "./loopback.ts";
import { type Block, formatNoise, type Measurement, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

const { FromOpenAPI } = await importBuilt<typeof import("../../src/from/openapi/index.ts")>("from/openapi/index.js");

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

/**
 * Measures 100,000 small events through `subscribe` against the parser with one `await` per event on the same
 * connection.
 */
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
  const parserStream: Block = async (times) => {
    let count = 0;
    for (let time = 0; time < times; time++) {
      const response = await fetch(`${server.origin}/ticks`, { headers: { accept: "text/event-stream" } });
      const parsed = response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const _ of parsed) count++;
    }
    return count / times;
  };
  /** The floor: the parser with one `await` per event, which every `for await` loop needs. */
  const parserAwaited: Block = async (times) => {
    let count = 0;
    const ready = Promise.resolve();
    for (let time = 0; time < times; time++) {
      const response = await fetch(`${server.origin}/ticks`, { headers: { accept: "text/event-stream" } });
      const decoder = new TextDecoder();
      let waiting = 0;
      const parser = createParser({
        onEvent: () => {
          waiting++;
        },
      });
      const reader = response.body!.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        parser.feed(decoder.decode(part.value, { stream: true }));
        for (; waiting > 0; waiting--) {
          await ready;
          count++;
        }
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

  for (const block of [parserAlone, parserStream, parserAwaited, subscribed]) deepStrictEqual(await block(1), events);
  const options = { rounds: 15, blockTime: 100 };
  const awaited = await measure(parserAwaited, { subscribed, parserAlone, parserStream }, options);
  await server.close();
  const { parserAlone: callback, parserStream: stream } = awaited.cases;
  const others = `with a callback ${callback.ratio.toFixed(2)} ×, the parser's own stream ${stream.ratio.toFixed(2)} ×`;
  return [toRow("100,000 events, to the parser with one await each", awaited, others)];
}

function toRow(work: string, measured: Measurement<"subscribed">, more: string): Row {
  const { ns, ratio } = measured.cases.subscribed;
  const rate = (time: number) => `${((events / time) * 1000).toFixed(2)} million/s`;
  const figures = `${formatTime(ns)}, ${rate(ns)}; parser ${rate(measured.floor.ns)}`;
  const note = [figures, more, formatNoise(measured)].join(", ");
  return { work, ratio, bar: 1.4, note };
}

import { readFileSync } from "node:fs";
import { Type } from "typebox";
import { expect, test } from "vitest";
import type { HTTPResponseMeta, ResponseEnvelope } from "../../../operation/index.ts";
import { collect, failureOf, openEndpoint, pieces } from "./testing.ts";

interface Case {
  name: string;
  bodyBase64: string;
  contentType: string;
  events: Array<{ event: string; data: string; lastEventId: string }>;
  connectionFails?: boolean;
}

const cases: Case[] = JSON.parse(
  readFileSync(new URL("../../../../test/fixtures/sse-cases.json", import.meta.url), "utf8"),
);

const texts = { outputSchema: Type.String() };

const toEvent = ({ data, meta }: ResponseEnvelope) => {
  const { type, id } = (meta as HTTPResponseMeta).event!;
  return { event: type, data, lastEventId: id ?? "" };
};

test.each(cases.filter(({ connectionFails }) => !connectionFails))(
  "event stream, cut everywhere: $name",
  async (example) => {
    const body = Buffer.from(example.bodyBase64, "base64");
    const read = async (...parts: Uint8Array[]) =>
      (await collect(openEndpoint(texts, { fetch: pieces(example.contentType, ...parts) }))).map(toEvent);

    expect(await read(body)).toEqual(example.events);
    expect(await read(...Array.from(body, (byte) => new Uint8Array([byte])))).toEqual(example.events);
    for (let cut = 1; cut < body.length; cut++) {
      expect(await read(body.subarray(0, cut), body.subarray(cut))).toEqual(example.events);
    }
  },
);

test.each(cases.filter(({ connectionFails }) => connectionFails))(
  "event stream: $name",
  async ({ bodyBase64, contentType }) => {
    const stream = openEndpoint({}, { fetch: pieces(contentType, Buffer.from(bodyBase64, "base64")) });

    expect(await failureOf(stream.next())).toMatchObject({ code: "BAD_RESPONSE" });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  },
);

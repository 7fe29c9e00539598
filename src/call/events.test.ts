import { Value } from "typebox/value";
import { expect, expectTypeOf, test } from "vitest";
import { localEnvelope } from "../operation/index.ts";
import type { CallRequested, CallResponded, CallRunning, Frame, PeerEvent } from "../transport/transport.ts";
import { CallEventMap, CallEventSchema } from "./index.ts";

test("there is a schema for every frame, under both names", () => {
  expect(CallEventSchema).toBe(CallEventMap);
  expectTypeOf<keyof CallEventMap>().toEqualTypeOf<(Frame | CallRunning | PeerEvent)["type"]>();
  expectTypeOf<Omit<CallRequested, "type">>().toExtend<CallEventMap["call.requested"]>();
  expectTypeOf<Omit<CallResponded, "type">>().toExtend<CallEventMap["call.responded"]>();
});

test("a response is an envelope and nothing else", () => {
  const answer = { requestId: "r", output: localEnvelope(1, "test.echo"), seq: 0 };

  expect(Value.Check(CallEventMap["call.responded"], answer)).toBe(true);
  expect(Value.Check(CallEventMap["call.responded"], { ...answer, output: 1 })).toBe(false);
});

test("frames pass the schemas of their events, malformed ones do not", () => {
  const request = { type: "call.requested", requestId: "r", operationId: "test.echo", input: undefined, timeout: 5 };

  expect(Value.Check(CallEventMap["call.requested"], request)).toBe(true);
  expect(Value.Check(CallEventMap["call.requested"], { ...request, requestId: 1 })).toBe(false);
  expect(Value.Check(CallEventMap["call.requested"], { ...request, identity: { id: "ada" } })).toBe(false);
  expect(Value.Check(CallEventMap["call.credited"], { requestId: "r", count: 1.5 })).toBe(false);
});

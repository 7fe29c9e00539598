import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallError, isCallError } from "../../operation/index.ts";
import { toFailedFrame } from "../transport.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import type { FrameLimits } from "./wire-format.ts";

const limits: FrameLimits = { maxMessage: 1_000_000, jsonDepth: 200 };

function failure(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

const request = { type: "call.requested" as const, requestId: "r-1", operationId: "test.echo", input: 1 };
const meta = { source: "local", operationId: "test.echo", timestamp: 0 };

class CustomJSON {
  constructor(readonly given: unknown) {}
  toJSON(): unknown {
    return this.given;
  }
}

const field = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withNullPrototype: true }),
  fc.constantFrom("", "x".repeat(300), "x".repeat(70_000), -1, 0.5, 1e308, Number.NaN, null, [], {}, new Map()),
  fc.constantFrom(new CustomJSON("text"), new CustomJSON({}), new CustomJSON(undefined), new CustomJSON([1])),
  fc.constantFrom(
    { data: 1, meta },
    new CustomJSON({ data: 1, meta }),
    Object.assign(new CustomJSON(5), { data: 1, meta }),
  ),
  fc.string(),
);
const names = [
  "requestId,operationId,input,parentRequestId,timeout,token,identity,metadata,credit",
  "output,seq,progress,count,reason,code,message,details,retryable,mayHaveRun,peerId,specs",
].flatMap((line) => line.split(","));
const frame = fc
  .tuple(
    fc.constantFrom(
      ...["requested", "responded", "progressed", "credited", "completed", "aborted", "error"].map(
        (it) => `call.${it}`,
      ),
      "peer.announced",
      "peer.left",
    ),
    fc.dictionary(fc.constantFrom(...names), field, { maxKeys: 4 }),
  )
  .map(([type, fields]) => ({ ...request, count: 1, output: { data: 1, meta }, progress: {}, ...fields, type }));

describe("a frame of ours", () => {
  test("with any field values, is refused by the writer or accepted by the reader", () => {
    fc.assert(
      fc.property(frame, (own) => {
        let text: string;
        try {
          text = encode(own, limits);
        } catch (error) {
          return isCallError(error);
        }
        return decode(text, limits).type === own.type;
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ["a token that is too long", { token: "x".repeat(70_000) }, "/token"],
    ["a parent's id that is too long", { parentRequestId: "x".repeat(300) }, "/parentRequestId"],
    ["metadata that is a list", { metadata: [] }, "/metadata"],
    ["metadata that becomes a string", { metadata: new CustomJSON("text") }, "/metadata"],
    ["a bigint of too many digits", { input: [10n ** 20_000n] }, "/input/0"],
    ["too many errors", { input: new Array(10_001).fill(new Error("no")) }, "/input/10000"],
  ])("with %s fails before it is sent, with the path", (_, fields, path) => {
    expect(failure(() => encode({ ...request, ...fields }, limits))).toMatchObject({
      code: "EXECUTION_ERROR",
      details: { path },
      mayHaveRun: false,
    });
  });

  test.each(["", "x".repeat(400)])("for an operation with an impossible id is not found", (operationId) => {
    const own = { ...request, operationId };

    expect(failure(() => encode(own, limits))).toMatchObject({
      code: "OPERATION_NOT_FOUND",
      mayHaveRun: false,
    });
  });

  test.each([
    ["an empty code", new CallError("", "oh")],
    ["a long code", new CallError("X".repeat(1_000), "oh")],
    ["malformed flags", new CallError("X", "oh", undefined, { retryable: "yes" as never, mayHaveRun: null as never })],
    ["a message that is not a string", Object.defineProperty(new CallError("X", "oh"), "message", { value: 5 })],
  ])("that contains an error with %s arrives", (_, error) => {
    const sent = toFailedFrame("r-1", error);

    const arrived = decode(encode(sent, limits), limits);

    expect(arrived).toMatchObject({ type: "call.error", code: error.code });
  });
});

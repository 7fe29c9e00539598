import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isCrowded } from "./crowded.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";

const limits = { maxMessage: 10_000_000, jsonDepth: 200 };
const amount = 2_000;

/** V8 looks at the 64 lowest bits of a bigint only. */
const crowded = Array.from({ length: amount }, (_, index) => (BigInt(index) << 64n) + 5n);

function frame(input: string): string {
  return `~{"type":"call.requested","requestId":"r","operationId":"a.b","input":${input}}`;
}

function failure(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Whole numbers whose hash in V8 ends with eleven zeros. */
function findCrowdedIntegers(): number[] {
  const found: number[] = [];
  for (let key = 0; found.length < amount; key++) {
    let hash = ~key + (key << 15);
    hash ^= hash >>> 12;
    hash += hash << 2;
    hash ^= hash >>> 4;
    hash = Math.imul(hash, 2057);
    hash ^= hash >>> 16;
    if ((hash & 0x7ff) === 0) found.push(key);
  }
  return found;
}

describe("keys that were chosen to fall into one bucket", () => {
  const integers = findCrowdedIntegers();

  test("are refused by the reader of sets and maps", () => {
    const bigints = crowded.map((key) => `["~bigint","${key}"]`);
    const pairs = integers.map((key) => `[${key},1]`);

    for (const [input, what] of [
      [`["~set",${integers}]`, "items of a tagged set"],
      [`["~set",${bigints}]`, "items of a tagged set"],
      [`["~map",${pairs}]`, "keys of a tagged map"],
    ]) {
      expect(failure(() => decode(frame(input!), limits))).toMatchObject({
        code: "BAD_RESPONSE",
        details: { reason: `the ${what} are chosen to be slow` },
      });
    }
  });

  test("fail alone, with their path, where they are written", () => {
    const request = { type: "call.requested", requestId: "r", operationId: "a.b" };

    for (const input of [{ subnets: new Set(crowded) }, { subnets: new Map(crowded.map((key) => [key, 1])) }]) {
      const own = { ...request, input };
      expect(failure(() => encode(own, limits))).toMatchObject({
        code: "EXECUTION_ERROR",
        details: { path: "/input/subnets" },
      });
    }
  });
});

describe("keys that people use", () => {
  test.each([
    ["in a row", (index: number) => index],
    ["with a step of 4,096", (index: number) => index * 4_096],
    ["below zero", (index: number) => -index],
    ["with halves", (index: number) => index / 2],
    ["with tenths", (index: number) => index / 10],
    ["times in ms", (index: number) => 1_700_000_000_000 + index * 1_000],
    ["powers of two", (index: number) => 2 ** (index - amount / 2)],
    ["bigints", (index: number) => BigInt(index) * 1_000_000_007n],
    ["bigints with low bits of zero", (index: number) => BigInt(index) << 40n],
    ["texts", (index: number) => String(index)],
  ])("are welcome: numbers %s", (_, make) => {
    expect(isCrowded(Array.from({ length: amount }, (_, index) => make(index)))).toBe(false);
  });

  test("are welcome whatever they are, as long as nobody has chosen them", () => {
    const keys = fc.uniqueArray(fc.oneof(fc.integer(), fc.double(), fc.bigInt()), {
      minLength: 1_001,
      maxLength: 3_000,
      size: "max",
    });

    fc.assert(
      fc.property(keys, (some) => !isCrowded(some)),
      { numRuns: 30 },
    );
  });
});

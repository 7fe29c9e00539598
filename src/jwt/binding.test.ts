import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { decode, encode } from "../transport/codec/index.ts";
import type { CallRequested } from "../transport/transport.ts";
import { toCallClaims } from "./claims.ts";
import { requested } from "./testing.ts";

const limits = { maxMessage: 1_000_000, jsonDepth: 200 };

function travel(request: CallRequested): CallRequested {
  return decode(encode(request, limits), limits) as CallRequested;
}

class Money {
  amount = 5;
  static readonly currency = "EUR";
}

class Point {
  toJSON() {
    return { x: 1, y: new Date(3) };
  }
}

const leaf = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom<unknown>("~", "~date", "\ud800", -0, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, true),
  fc.double(),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array(),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc.string().map((message) => new TypeError(message, { cause: new Error("inner") })),
  fc.constantFrom<unknown>(
    new Money(),
    new Point(),
    new String("boxed"),
    Object.assign(new Error("x"), { name: "Own" }),
  ),
);
const key = fc.oneof(fc.string(), fc.constantFrom("__proto__", "toJSON", "~date", "1", "0"));
const anything = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    leaf,
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("tree")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    fc.array(fc.tuple(tie("tree"), tie("tree")), { maxLength: 4 }).map((entries) => new Map(entries)),
    fc.array(tie("tree"), { maxLength: 4 }).map((items) => new Set(items)),
  ),
})).tree;

afterEach(() => {
  vi.restoreAllMocks();
});

test("both peers compute the same claims for any request", async () => {
  await fc.assert(
    fc.asyncProperty(anything, async (input) => {
      const request = requested({ input, metadata: { input } });

      expect(await toCallClaims(travel(request))).toEqual(await toCallClaims(request));
    }),
    { numRuns: 300 },
  );
});

test("different requests have different claims", async () => {
  const inputs = [
    1,
    "1",
    [1],
    { a: 1 },
    { a: 1, b: undefined },
    { b: 1 },
    new Date(1),
    1n,
    -0,
    0,
    null,
    undefined,
    "~",
  ];
  const requests = [
    ...inputs.map((input) => requested({ input })),
    requested({ input: undefined, metadata: { a: 1 } }),
    requested({ input: undefined, parentRequestId: "p" }),
    requested({ input: { metadata: { a: 1 } } }),
  ];

  const digests = await Promise.all(requests.map(async (request) => (await toCallClaims(request)).digest));

  expect(new Set(digests).size).toBe(requests.length);
});

test("Web Crypto and Node compute the same digest", async () => {
  const requests = Array.from({ length: 50 }, (_, n) => requested({ input: { n, text: "ü".repeat(n) } }));
  const claims = () => Promise.all(requests.map(toCallClaims));

  const here = await claims();
  vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined);
  const inBrowser = await claims();

  expect(inBrowser).toEqual(here);
  expect(here[0]!.digest).toMatch(/^[\w-]{43}$/);
});

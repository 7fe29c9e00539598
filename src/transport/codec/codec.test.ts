import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallError } from "../../operation/index.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import type { FrameLimits } from "./wire-format.ts";

const limits: FrameLimits = { maxMessage: 1_000_000, jsonDepth: 200 };

function request(input: unknown) {
  return { type: "call.requested" as const, requestId: "r-1", operationId: "test.echo", input };
}

function travel(input: unknown): unknown {
  return (decode(encode(request(input), limits), limits) as { input: unknown }).input;
}

function failure(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

const key = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toJSON", "~date", "then", "a/b~c"));
const errors = fc
  .tuple(fc.constantFrom(Error, TypeError, RangeError, SyntaxError), fc.string())
  .map(([Class, message]) => new Class(message));
const anything = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("~", "~date", "~~", "\ud800"),
    fc.double(),
    fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, true, false),
    fc.bigInt(),
    fc.date({ noInvalidDate: false }),
    fc.uint8Array(),
    fc.float64Array(),
    fc.int16Array(),
    fc.bigInt64Array(),
    fc.uint8Array().map((bytes) => bytes.slice().buffer),
    errors,
  ),
  tree: fc.oneof(
    { maxDepth: 5, depthSize: "small" },
    tie("leaf"),
    fc.array(tie("tree")),
    fc.array(fc.tuple(key, tie("tree"))).map(plainObject),
    fc.array(fc.tuple(tie("tree"), tie("tree"))).map((entries) => new Map(entries)),
    fc.array(tie("tree")).map((items) => new Set(items)),
  ),
})).tree;

/** `Object.fromEntries` makes an own `__proto__` where assignment would not. */
function plainObject(entries: Array<[string, unknown]>): object {
  return Object.fromEntries(entries);
}

describe("values that can be sent", () => {
  test("any value arrives as it left", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const arrived = travel(value);
        return isDeepStrictEqual(arrived, value);
      }),
      { numRuns: 300 },
    );
  });

  test("a JSON value is written as plain JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        fc.pre(!JSON.stringify(value).includes("-0"));
        expect(encode(request(value), limits)).toBe(JSON.stringify(request(value)));
      }),
    );
  });

  test("a frame is one line", () => {
    fc.assert(fc.property(anything, (value) => !encode(request(value), limits).includes("\n")));
  });

  test("instances of classes arrive as plain objects", () => {
    class Point {
      x = 1;
      #secret = 2;
      get sum() {
        return this.x + this.#secret;
      }
    }
    class Money {
      toJSON() {
        return { amount: 5n };
      }
    }
    class Row {
      id = 7n;
      toJSON() {
        return this;
      }
    }

    const arrived = travel({
      point: new Point(),
      money: new Money(),
      url: new URL("http://a.test/"),
      text: new String("s"),
      row: new Row(),
    });

    expect(arrived).toStrictEqual({
      point: { x: 1 },
      money: { amount: 5n },
      url: "http://a.test/",
      text: "s",
      row: { id: 7n },
    });
  });

  test("an own __proto__ stays data and changes no prototype", () => {
    const arrived = travel(JSON.parse('{"__proto__":{"isAdmin":true},"when":1}')) as Record<string, unknown>;
    const tagged = travel({ ...JSON.parse('{"a":{"__proto__":{"isAdmin":[1]}}}'), n: 1n }) as Record<string, object>;

    expect(arrived["isAdmin"]).toBeUndefined();
    expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
    expect(Object.keys(arrived)).toEqual(["__proto__", "when"]);
    expect(Object.getPrototypeOf(tagged["a"])).toBe(Object.prototype);
    expect(Object.keys(tagged["a"]!)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
  });

  test("errors keep name, cause and own properties, and lose their stack", () => {
    class QueryError extends Error {
      override name = "QueryError";
      code = "E42";
    }
    const error = new QueryError("bad query", { cause: new TypeError("inner") });

    const arrived = travel(error) as QueryError;

    expect(arrived).toBeInstanceOf(Error);
    expect({ name: arrived.name, message: arrived.message, code: arrived.code, stack: arrived.stack }).toEqual({
      name: "QueryError",
      message: "bad query",
      code: "E42",
      stack: "QueryError: bad query",
    });
    expect(arrived.cause).toBeInstanceOf(TypeError);
  });

  test("a CallError arrives as one, without its cause", () => {
    const error = new CallError("TASK_LOCKED", "locked", { by: 7n }, { retryable: true, cause: new Error("secret") });

    const arrived = travel(error) as CallError;

    expect(arrived).toBeInstanceOf(CallError);
    expect(arrived.toJSON()).toEqual(error.toJSON());
    expect(arrived.details).toEqual({ by: 7n });
    expect({ cause: arrived.cause, stack: arrived.stack }).toEqual({ cause: undefined, stack: "CallError: locked" });
  });

  test("a Buffer arrives as the bytes that it shows", () => {
    const pooled = Buffer.from("hello");

    expect(travel(pooled)).toStrictEqual(new Uint8Array([104, 101, 108, 108, 111]));
  });

  test("fields of a frame that are undefined are left out", () => {
    const frame = { ...request(1n), token: undefined };

    expect(encode({ ...request(1), token: undefined } as never, limits)).not.toContain("token");
    expect(encode(frame, limits)).not.toContain("token");
  });
});

function givenAway(): Uint8Array {
  const bytes = new Uint8Array(4);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

class Hidden {
  #id = "1";
  get id() {
    return this.#id;
  }
}

describe("values that cannot be sent", () => {
  const circular: Record<string, unknown> = { list: [] };
  (circular["list"] as unknown[]).push({ back: circular });

  test.each([
    ["a function", { items: [1, { callback: () => 1 }] }, "/input/items/1/callback"],
    ["a symbol", { "a/b": Symbol("s") }, "/input/a~1b"],
    ["a cycle", circular, "/input/list/0/back"],
    ["a function in a map", new Map([["run", () => 1]]), "/input/run"],
    [
      "a getter that throws",
      {
        get it() {
          throw new Error("no");
        },
      },
      "/input/it",
    ],
    ["a buffer that was given away", [{ bytes: givenAway() }], "/input/0/bytes"],
    ["a proxy that was revoked", [{ proxy: revoked() }], "/input/0/proxy"],
    ["a promise that was not awaited", { user: Promise.resolve(1) }, "/input/user"],
    ["a regular expression", [/a/g], "/input/0"],
    ["a weak map", { cache: new WeakMap() }, "/input/cache"],
    ["a weak set", { seen: new WeakSet() }, "/input/seen"],
    ["a weak reference", { one: new WeakRef({}) }, "/input/one"],
    ["a buffer that is shared", { memory: new SharedArrayBuffer(4) }, "/input/memory"],
    ["a map behind a proxy", { map: new Proxy(new Map([[1, 2]]), {}) }, "/input/map"],
    ["a blob", { file: new Blob(["x"]) }, "/input/file"],
    ["a file", [new File(["x"], "x.txt")], "/input/0"],
    ["a stream", { body: new ReadableStream() }, "/input/body"],
    ["headers", { headers: new Headers({ a: "1" }) }, "/input/headers"],
    ["form data", new FormData(), "/input"],
    ["a query string", { query: new URLSearchParams("a=1") }, "/input/query"],
    ["an iterator", { keys: new Map().keys() }, "/input/keys"],
    ["an instance that hides its state", { user: new Hidden() }, "/input/user"],
    ["a toJSON that throws", { money: { __proto__: { toJSON: () => void JSON.parse("") } } }, "/input/money"],
  ])("%s fails with its path, and the operation has not run", (_, input, path) => {
    expect(failure(() => encode(request(input), limits))).toMatchObject({
      code: "EXECUTION_ERROR",
      details: { path },
      mayHaveRun: false,
    });
  });

  test("a call whose response cannot be sent may have run", () => {
    const frame = { type: "call.progressed", requestId: "r", progress: { value: () => 1 } };

    expect(failure(() => encode(frame, limits))).toMatchObject({ code: "EXECUTION_ERROR", mayHaveRun: true });
  });

  test("nesting is taken up to the limit, and refused one level deeper by both ends", () => {
    const nested = (levels: number, inner: unknown) => {
      let value = inner;
      for (let level = 0; level < levels; level++) value = [value];
      return value;
    };
    const text = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}`;
    const frame = (value: string) => `{"type":"call.progressed","requestId":"r","progress":{"value":${value}}}`;

    expect(travel(nested(201, 1))).toEqual(nested(201, 1));
    expect(travel(nested(201, 1n))).toEqual(nested(201, 1n));
    expect(failure(() => travel(nested(202, 1)))).toMatchObject({ code: "EXECUTION_ERROR" });
    expect(failure(() => travel(nested(202, 1n)))).toMatchObject({ code: "EXECUTION_ERROR" });
    expect(decode(frame(text(200)), limits)).toMatchObject({ type: "call.progressed" });
    expect(failure(() => decode(frame(text(201)), limits))).toMatchObject({ code: "BAD_RESPONSE" });
    expect(failure(() => decode(`~${frame(text(201))}`, limits))).toMatchObject({ code: "BAD_RESPONSE" });
    expect(failure(() => decode("[".repeat(900_000), limits))).toMatchObject({ code: "BAD_RESPONSE" });
  });

  test("a frame is taken up to maxMessage bytes, and refused one byte above by both ends", () => {
    const room = (bytes: number) => ({ maxMessage: bytes, jsonDepth: 200 });
    const text = encode(request("é"), limits);
    const bytes = Buffer.byteLength(text);

    expect(encode(request("é"), room(bytes))).toBe(text);
    expect(decode(text, room(bytes))).toEqual(request("é"));
    expect(failure(() => encode(request("é"), room(bytes - 1)))).toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      message: `The message is larger than ${bytes - 1} bytes. If this is intended, raise limits.maxMessage at both ends, and the server's max_payload with NATS.`,
      mayHaveRun: false,
    });
    expect(failure(() => decode(text, room(bytes - 1)))).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    expect(failure(() => decode(Buffer.from(text), room(bytes - 1)))).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  });

  test("a small value that would be endless on the wire is too large", () => {
    let value: unknown = [1];
    for (let level = 0; level < 40; level++) value = [value, value];

    expect(failure(() => encode(request(value), limits))).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    expect(failure(() => encode(request([1n, value]), limits))).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  });
});

/** A frame with the same tagged value many times over. */
function taggedList(item: string, count: number): string {
  return `~{"type":"x","v":[${Array.from({ length: count }, () => item).join()}]}`;
}

describe("hostile frames", () => {
  const base = '"requestId":"r"';

  test.each([
    ["", "it is not JSON"],
    ["~", "it is not JSON"],
    ["null", "it is not an object"],
    ["[]", "it is not an object"],
    ["{}", "it has no type"],
    [`{"__proto__":{"type":"call.completed"},${base}}`, "it has a field __proto__"],
    ['{"type":"call.completed"}', "requestId of call.completed is invalid"],
    ['{"type":"call.completed","requestId":null}', "requestId of call.completed is invalid"],
    [`{"type":"call.completed","requestId":"${"x".repeat(257)}"}`, "requestId of call.completed is invalid"],
    [`{"type":"call.requested",${base}}`, "operationId of call.requested is invalid"],
    [`{"type":"call.requested",${base},"operationId":"a.b","timeout":"soon"}`, "timeout of call.requested is invalid"],
    [
      `~{"type":"call.requested",${base},"operationId":"a.b","timeout":["~number","NaN"]}`,
      "timeout of call.requested is invalid",
    ],
    [`{"type":"call.requested",${base},"operationId":"a.b","credit":-1}`, "credit of call.requested is invalid"],
    [`{"type":"call.requested",${base},"operationId":"a.b","depth":-1}`, "depth of call.requested is invalid"],
    [`{"type":"call.requested",${base},"operationId":"a.b","depth":1e300}`, "depth of call.requested is invalid"],
    [`{"type":"call.requested",${base},"operationId":"a.b","metadata":[]}`, "metadata of call.requested is invalid"],
    [`{"type":"call.requested",${base},"operationId":"a.b","token":{}}`, "token of call.requested is invalid"],
    [`{"type":"call.responded",${base},"output":{"data":1}}`, "output of call.responded is invalid"],
    [`{"type":"call.error",${base},"code":"X","message":1}`, "message of call.error is invalid"],
    [`{"type":"call.credited",${base}}`, "count of call.credited is invalid"],
    ['{"type":"peer.announced","peerId":"p","specs":[null]}', "specs of peer.announced is invalid"],
    ['~{"type":"x","v":["~regexp","(a+)+$"]}', "it has an unknown tag"],
    ['~{"type":"x","v":["~number","1"]}', "a tagged number is a number that JSON can represent"],
    [`~{"type":"x","v":["~bigint","${"9".repeat(20_001)}"]}`, "a tagged bigint has no digits, or too many"],
    [taggedList('["~error",{"name":"E","message":""}]', 10_001), "it has more than 10000 errors"],
    ['~{"type":"x","v":["~date","2020"]}', "a tagged date has no time"],
    [
      '~{"type":"x","v":["~bytes","Function","AQID"]}',
      "tagged bytes have no known kind, or are not base64 of whole elements",
    ],
    [
      '~{"type":"x","v":["~bytes","Uint8Array","!!!!"]}',
      "tagged bytes have no known kind, or are not base64 of whole elements",
    ],
    [
      '~{"type":"x","v":["~bytes","Float64Array","AQID"]}',
      "tagged bytes have no known kind, or are not base64 of whole elements",
    ],
    ['~{"type":"x","v":["~map",[1]]}', "an entry of a tagged map is not a pair"],
    ['~{"type":"x","v":["~error","boom"]}', "a tagged error is empty"],
    ['~{"type":"x","v":["~error",{"name":1}]}', "a tagged error has no name or message"],
  ])("%#: is refused", (text, reason) => {
    expect(failure(() => decode(text, limits))).toMatchObject({ code: "BAD_RESPONSE", details: { reason } });
  });

  test.each(["~map", "~set"])("more %s than a message may hold are refused by both ends", (name) => {
    const large = { ...limits, maxMessage: 16 * 1024 * 1024 };
    const sent = new Array(500_001).fill(name === "~map" ? new Map() : new Set());

    expect(failure(() => decode(taggedList(`["${name}"]`, 500_001), large))).toMatchObject({
      code: "BAD_RESPONSE",
      details: { reason: "it has more than 500000 maps and sets" },
    });
    expect(failure(() => encode(request(sent), large))).toMatchObject({
      code: "EXECUTION_ERROR",
      details: { path: "/input/500000" },
    });
  });

  test.each([
    ["a set of numbers", (keys: number[]) => new Set(keys), (keys: number[]) => `["~set",${keys}]`],
    [
      "a set of bigints",
      (keys: number[]) => new Set(keys.map(BigInt)),
      (keys: number[]) => `["~set",${keys.map((key) => `["~bigint","${key}"]`)}]`,
    ],
    [
      "a map",
      (keys: number[]) => new Map(keys.map((key) => [key, null])),
      (keys: number[]) => `["~map",${keys.map((key) => `[${key},null]`)}]`,
    ],
  ])("%s may hold 10,000 numbers and no more, because keys can be chosen to be slow", (_, make, write) => {
    const keys = Array.from({ length: 10_001 }, (_, index) => index);

    expect(travel(make(keys.slice(1)))).toEqual(make(keys.slice(1)));
    expect(failure(() => decode(`~{"type":"x","v":${write(keys)}}`, limits))).toMatchObject({
      code: "BAD_RESPONSE",
      details: { reason: "more than 10000 keys of its maps and sets are numbers" },
    });
    expect(failure(() => encode(request({ ids: make(keys) }), limits))).toMatchObject({
      code: "EXECUTION_ERROR",
      details: { path: "/input/ids" },
    });
  });

  test("many small sets of numbers count together, and strings do not count", () => {
    const small = Array.from({ length: 101 }, () => new Set(Array.from({ length: 100 }, (_, index) => index)));
    const strings = new Set(Array.from({ length: 20_000 }, (_, index) => `${index}`));

    expect(failure(() => encode(request(small), limits))).toMatchObject({ code: "EXECUTION_ERROR" });
    expect(travel(strings)).toEqual(strings);
  });

  test("bytes that are not UTF-8 are refused", () => {
    expect(failure(() => decode(new Uint8Array([0xff, 0xfe]), limits))).toMatchObject({ code: "BAD_RESPONSE" });
  });

  test("a truncated or changed message is a frame or a typed error", () => {
    const text = encode(
      request({ when: new Date(0), map: new Map([[1, new Uint8Array(3)]]), e: new Error("x") }),
      limits,
    );
    fc.assert(
      fc.property(fc.nat(text.length), fc.nat(text.length), fc.string(), (from, to, patch) => {
        const error = failure(() => decode(text.slice(0, from) + patch + text.slice(to), limits));
        return error === undefined || error instanceof CallError;
      }),
      { numRuns: 3_000 },
    );
  });

  test("a frame of an unknown type passes", () => {
    expect(decode('{"type":"link.later","x":1}', limits)).toEqual({ type: "link.later", x: 1 });
  });
});

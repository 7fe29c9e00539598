/** Every kind of value that design promises to carry, by name. */
export const wireValues: Record<string, unknown> = {
  JSON: { text: "ä\u0000 \ud83d\ude00", list: [1, -2.5, 1e21, true, false, null, [[]]], empty: {}, nothing: "" },
  "undefined in an object": { a: undefined, b: 1 },
  "undefined in an array": [undefined, 1],
  "undefined itself": undefined,
  "null itself": null,
  "minus zero": { zero: -0 },
  "NaN and infinities": [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  bigint: 2n ** 70n,
  Date: new Date("2026-02-28T12:00:00.123Z"),
  "an invalid Date": [new Date(Number.NaN)],
  Uint8Array: new Uint8Array([0, 1, 255]),
  Float64Array: new Float64Array([Math.PI, -0]),
  ArrayBuffer: new Uint8Array([1, 2, 3]).buffer,
  Map: new Map<unknown, unknown>([
    ["key", { deep: new Set([1n]) }],
    [1, undefined],
  ]),
  Set: new Set<unknown>([1, "1", null, new Date(0)]),
  "keys that look like a prototype": JSON.parse('{"__proto__": {"isAdmin": true}, "constructor": 1, "toString": 2}'),
  "keys that look like a tag": { $type: "Date", $: 1, type: "call.error", "@": ["bigint", "1"] },
};

/** Values whose state is in no property, so that a copy of their properties would be an empty object. */
export const hiddenValues: Record<string, unknown> = {
  "a Blob": new Blob(["x"]),
  "a File": new File(["x"], "x.txt"),
  "a ReadableStream": new ReadableStream(),
  Headers: new Headers({ a: "1" }),
  FormData: new FormData(),
  URLSearchParams: new URLSearchParams("a=1"),
  "a WeakMap": new WeakMap(),
  "a promise": Promise.resolve(1),
};

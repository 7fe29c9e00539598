import { expect, test } from "vitest";
import { describe } from "./describe.ts";

test("ids are numbered, and times, durations, ports and folders are masked", () => {
  const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];

  expect(describe({ b: one, a: `${other}-3`, list: [one] })).toEqual({ a: "<id 1>", b: "<id 2>", list: ["<id 2>"] });
  expect(describe([Date.now(), 1, new Date().toISOString(), "2020-01-02T03:04:05Z"])).toEqual([
    "<time>",
    1,
    "<date>",
    "2020-01-02T03:04:05Z",
  ]);
  expect(describe(["after 12 ms", "http://127.0.0.1:4000/x", { duration: 3 }])).toEqual([
    "after <duration>",
    "http://127.0.0.1:<port>/x",
    { duration: "<duration>" },
  ]);
  expect(describe("in /tmp/a/b.js", { home: "/tmp", library: "/tmp/a" })).toBe("in <library>/b.js");
});

test("values that JSON does not have, cycles and errors are described", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;

  expect(describe([undefined, Number.NaN, -0, 1n, new Set([1]), new Uint8Array([1]), new Date(0), cyclic])).toEqual([
    { $: "undefined" },
    { $: "number", value: "NaN" },
    { $: "number", value: "-0" },
    { $: "bigint", value: "1" },
    { $: "Set", values: [1] },
    { $: "Uint8Array", bytes: [1] },
    { $: "Date", value: "1970-01-01T00:00:00.000Z" },
    { self: { $: "cycle" } },
  ]);
  expect(describe(new TypeError("No.", { cause: "why" }))).toEqual({ $: "TypeError", message: "No.", cause: "why" });
});

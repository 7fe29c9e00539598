import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { hidesState } from "./instances.ts";

class Hidden {
  #id = "1";
  get id() {
    return this.#id;
  }
}
class Empty {}
class Point {
  x = 1;
  norm() {
    return this.x;
  }
}
async function* generate() {}

describe("state outside own enumerable properties", () => {
  test.each<[string, object]>([
    ["a Blob", new Blob(["x"])],
    ["a File", new File(["x"], "x.txt")],
    ["a File with an own property", Object.assign(new File(["x"], "x.txt"), { path: "/x.txt" })],
    ["a ReadableStream", new ReadableStream()],
    ["a WritableStream", new WritableStream()],
    ["a stream of Node", Readable.from(["x"])],
    ["Headers", new Headers()],
    ["FormData", new FormData()],
    ["URLSearchParams", new URLSearchParams("a=1")],
    ["a Request", new Request("http://localhost")],
    ["a Response", new Response("x")],
    ["an AbortSignal", new AbortController().signal],
    ["a promise", Promise.resolve()],
    ["a WeakMap", new WeakMap()],
    ["a WeakRef", new WeakRef({})],
    ["a FinalizationRegistry", new FinalizationRegistry(() => {})],
    ["a regular expression", Object.assign(/x/, { own: 1 })],
    ["an iterator", new Map().entries()],
    ["an async generator", generate()],
    ["a number format", new Intl.NumberFormat("en")],
    ["an instance with private fields only", new Hidden()],
  ])("%s", (_, object) => {
    expect(hidesState(object)).toBe(true);
  });

  test.each<[string, object]>([
    ["a plain object", {}],
    ["an object without a prototype", Object.create(null)],
    ["an instance with fields", new Point()],
    ["an instance of a class without members", new Empty()],
    ["an instance with the tag Object", Object.assign(new Point(), { [Symbol.toStringTag]: "Object" })],
  ])("is not found in %s", (_, object) => {
    expect(hidesState(object)).toBe(false);
  });
});

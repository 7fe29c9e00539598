import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readInput } from "./input.ts";

let folder: string;
const { signal } = new AbortController();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "operations-input-"));
  writeFileSync(join(folder, "note.txt"), "42");
  writeFileSync(join(folder, "picture.png"), Buffer.from([0x89, 0x50, 0xff]));
  writeFileSync(join(folder, "input.json"), '{"title":"from a file","count":1}');
});

afterAll(() => rmSync(folder, { recursive: true }));

const schema = {
  type: "object",
  properties: {
    zip: { type: "string" },
    count: { type: "integer" },
    done: { type: "boolean" },
    parent: { type: ["integer", "null"] },
    either: { anyOf: [{ type: "integer" }, { type: "string" }] },
    level: { enum: [1, 2, "high"] },
    tags: { type: "array", items: { type: "string" } },
    any: {},
    address: { $ref: "#/$defs/Address" },
    "address.city": { type: "integer" },
    tree: { $ref: "#/$defs/Node" },
  },
  $defs: {
    Address: { type: "object", properties: { city: { type: "string" }, number: { type: "integer" } } },
    Node: { type: "object", properties: { depth: { type: "integer" }, next: { $ref: "#/$defs/Node" } } },
  },
};

function read(...pairs: string[]): Promise<unknown> {
  return readInput({ input: undefined, pairs, folder, signal }, schema);
}

test.each([
  ["a string stays a string", "zip=10001", { zip: "10001" }],
  ["an integer", "count=10001", { count: 10001 }],
  ["a value that is not an integer stays as it is, for the check to report it", "count=1.5", { count: "1.5" }],
  ["an integer that a double would round stays as it is", "count=9007199254740993", { count: "9007199254740993" }],
  ["a list with one stays as it is too", "tags=[9007199254740993]", { tags: "[9007199254740993]" }],
  ["a boolean", "done=true", { done: true }],
  ["null where it is allowed", "parent=null", { parent: null }],
  ["in a union the string wins", "either=7", { either: "7" }],
  ["a listed number", "level=2", { level: 2 }],
  ["a listed string", "level=high", { level: "high" }],
  ["a list", 'tags=["a","b"]', { tags: ["a", "b"] }],
  ["an unknown type stays a string", "any=7", { any: "7" }],
  ["a property that the schema does not describe stays a string", "other=7", { other: "7" }],
  ["JSON", "any:=7", { any: 7 }],
  ["a value with equals signs", "zip=a=b:=c", { zip: "a=b:=c" }],
  ["an empty string", "zip=", { zip: "" }],
  ["a path with dots", "address.number=7", { address: { number: 7 } }],
  ["an exact name wins over a path", "address.city=7", { "address.city": 7 }],
  ["a path through a recursive schema", "tree.next.next.depth=3", { tree: { next: { next: { depth: 3 } } } }],
  ["a name that the prototype has", "__proto__.x=1", JSON.parse('{"__proto__":{"x":"1"}}')],
  ["a file as a string", "zip@=note.txt", { zip: "42" }],
  ["a file as a number", "count@=note.txt", { count: 42 }],
  ["a file with bytes", "any@=picture.png", { any: { base64: "iVD/", filename: "picture.png" } }],
])("%s: %s", async (_, pair, expected) => {
  const input = await read(pair);

  expect(input).toEqual(expected);
  expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
});

test("paths with a common beginning are merged", async () => {
  expect(await read("address.number=7", "address.street=Main")).toEqual({ address: { number: 7, street: "Main" } });
});

test("arguments replace parts of --input, inline and from a file", async () => {
  const inline = await readInput(
    { input: '{"count":1,"address":{"number":1}}', pairs: ["address.number=2"], folder, signal },
    schema,
  );
  const file = await readInput({ input: "@input.json", pairs: ["count=2"], folder, signal }, schema);

  expect(inline).toEqual({ count: 1, address: { number: 2 } });
  expect(file).toEqual({ title: "from a file", count: 2 });
});

test("without arguments there is no input, and --input may be any JSON", async () => {
  expect(await read()).toBe(undefined);
  expect(await readInput({ input: "[1]", pairs: [], folder, signal }, schema)).toEqual([1]);
});

test.each([
  [["title"], 'The argument "title" is invalid. Pass KEY=VALUE, KEY:=JSON or KEY@=FILE.'],
  [["=x"], 'The argument "=x" is invalid. Pass KEY=VALUE, KEY:=JSON or KEY@=FILE.'],
  [["zip=1", "zip=2"], `The key "zip" is set twice. Pass a list as JSON: zip:='[…]'.`],
  [["any:={"], `The value of "any" is not JSON. Quote it for your shell, such as --input '{"title":"Ship it"}'.`],
  [["zip=1", "zip.x=2"], 'The key "zip.x" is a path through "zip", which is not an object.'],
])("%j is refused", async (pairs, message) => {
  await expect(read(...pairs)).rejects.toMatchObject({ code: "USAGE", mayHaveRun: false, message });
});

test("a file that is missing is refused", async () => {
  await expect(read("zip@=missing.txt")).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/^The file "missing\.txt" cannot be read: ENOENT/),
  });
});

test("a value of --input that is not an object cannot be combined with arguments", async () => {
  await expect(readInput({ input: "[1]", pairs: ["a=1"], folder, signal }, schema)).rejects.toMatchObject({
    message: "The value of --input is not an object, so KEY=VALUE arguments cannot be added to it.",
  });
});

test.each([
  ["any:=9007199254740993", undefined, 'The value of "any"'],
  ['any:={"ids":[-9007199254740993]}', undefined, 'The value of "any"'],
  ["any:= 1e400 ", undefined, 'The value of "any"'],
  [undefined, '{"id":9007199254740993}', "The value of --input"],
  [undefined, "@large.json", 'The content of "large.json"'],
])("a number that would be rounded is refused: %j %j", async (pair, input, subject) => {
  writeFileSync(join(folder, "large.json"), '[{"id":9007199254740993}]');
  const pairs = pair === undefined ? [] : [pair];
  await expect(readInput({ input, pairs, folder, signal }, schema)).rejects.toMatchObject({
    code: "USAGE",
    message: `${subject} contains a number that JavaScript would round. Integers are exact up to 9007199254740991. Pass a string if the operation takes one.`,
  });
});

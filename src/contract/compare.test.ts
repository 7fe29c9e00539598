import { expect, test } from "vitest";
import { type OperationSpec, Type } from "../index.ts";
import { compareContracts, parseLock, printLock } from "./lock.ts";
import { createSpec } from "./testing.ts";

/** Returns the changes between two versions of operations as lines, the breaking ones first. */
function findChanges(before: OperationSpec[], after: OperationSpec[]): string[] {
  const [old, now] = [before, after].map((specs) => parseLock(printLock(specs)));
  const { breaking, harmless } = compareContracts(old!, now!);
  return [
    ...breaking.map(({ operation, message }) => `breaking ${operation}: ${message}`),
    ...harmless.map(({ operation, message }) => `harmless ${operation}: ${message}`),
  ];
}

const object = (properties: object, required: string[] = []) => ({ type: "object", properties, required });
const text = { type: "string" };
const number = { type: "number" };

test("a lock file has one line for every operation and every definition", () => {
  const lock = printLock([
    createSpec({
      description: "Creates a task.",
      input: Type.Object({ title: Type.String({ minLength: 1 }), rank: Type.Optional(Type.Integer()) }),
      output: {
        $ref: "#/$defs/task",
        $defs: { task: object({ parts: { type: "array", items: { $ref: "#/$defs/task" } } }) },
      },
      errorSchemas: [{ code: "TAKEN", schema: Type.Literal("title") }],
    }),
  ]);

  expect(lock).toBe(`{
  "lockVersion": 1,
  "operations": {
    "task.create": {"docs":"${/"docs":"([0-9a-f]{16})"/.exec(lock)?.[1]}","errors":{"TAKEN":{"const":"title","type":"string"}},"input":{"properties":{"rank":{"type":"integer"},"title":{"minLength":1,"type":"string"}},"required":["title"],"type":"object"},"output":{"$ref":"#/$defs/task.Task"},"type":"mutation","version":"1.0.0"}
  },
  "$defs": {
    "task.Task": {"properties":{"parts":{"items":{"$ref":"#/$defs/task.Task"},"type":"array"}},"required":[],"type":"object"}
  }
}
`);
});

test("operations, errors, types, versions and documentation are compared", () => {
  const error = { code: "TAKEN", schema: Type.Object({ id: Type.String() }) };
  const before = [
    createSpec({ name: "a" }),
    createSpec({ name: "b", errorSchemas: [error], description: "Old" }),
    createSpec({ name: "c", errorSchemas: [error] }),
    createSpec({ name: "d" }),
    createSpec({ name: "f" }),
  ];
  const after = [
    createSpec({ name: "b", errorSchemas: [{ ...error, code: "LOST" }], description: "New", version: "2.0.0" }),
    createSpec({ name: "c", errorSchemas: [{ ...error, schema: Type.Object({}) }] }),
    createSpec({ name: "d", type: "query" }),
    createSpec({ name: "e" }),
    createSpec({ name: "f", title: "New" }),
  ];

  expect(findChanges(before, after)).toEqual([
    "breaking task.a: The operation was removed.",
    'breaking task.b: The error "TAKEN" was removed.',
    'breaking task.c: The details of the error "TAKEN" at "/id" was removed.',
    "breaking task.d: The type changed from mutation to query.",
    'harmless task.b: The error "LOST" is new.',
    'harmless task.b: The version changed from "1.0.0" to "2.0.0".',
    "harmless task.e: The operation is new.",
    "harmless task.f: The documentation changed.",
  ]);
  expect(findChanges(before, before)).toEqual([]);
});

/** Each change as it is reported for an input, and for an output. `undefined` if nothing is reported. */
test.each<[title: string, before: unknown, after: unknown, input: string, output: string]>([
  [
    "a new required property",
    object({}),
    object({ a: text }, ["a"]),
    'breaking at "/a" is new and required',
    'harmless at "/a" is new and required',
  ],
  [
    "a new optional property",
    object({ b: text }),
    object({ b: text, a: text }),
    'harmless at "/a" is new',
    'harmless at "/a" is new',
  ],
  [
    "the first property of an object that lists none",
    object({}),
    object({ a: text }),
    'harmless at "/a" is new',
    'harmless at "/a" is new',
  ],
  [
    "the first property of an object that is a map",
    { type: "object" },
    object({ a: text }),
    'breaking at "/a" is new',
    'harmless at "/a" is new',
  ],
  [
    "a new property of a map of values",
    { ...object({ b: text }), additionalProperties: text },
    { ...object({ b: text, a: number }), additionalProperties: text },
    'breaking at "/a" is new',
    'breaking at "/a" is new',
  ],
  [
    "a new property of a closed object",
    { ...object({ b: text }), additionalProperties: false },
    { ...object({ b: text, a: text }), additionalProperties: false },
    'harmless at "/a" is new',
    'breaking at "/a" is new',
  ],
  [
    "a new property of an exclusive alternative that is closed, which another one may accept too",
    { oneOf: [{ ...object({ b: text }), additionalProperties: false }, object({ a: text }, ["a"])] },
    { oneOf: [{ ...object({ b: text, a: text }), additionalProperties: false }, object({ a: text }, ["a"])] },
    'breaking at "/a" is new',
    'breaking at "/a" is new',
  ],
  [
    "a new property that another part of an intersection lists",
    { allOf: [object({ x: object({ b: text }) }), object({ x: object({ a: text }) })] },
    { allOf: [object({ x: object({ b: text, a: number }) }), object({ x: object({ a: text }) })] },
    'breaking at "/x/a" is new',
    'harmless at "/x/a" is new',
  ],
  [
    "a removed property",
    object({ a: text, b: text }),
    object({ b: text }),
    'breaking at "/a" was removed',
    'breaking at "/a" was removed',
  ],
  [
    "a property that became required",
    object({ a: text }),
    object({ a: text }, ["a"]),
    'breaking at "/a" is now required',
    'harmless at "/a" is now required',
  ],
  [
    "a property that became optional",
    object({ a: text }, ["a"]),
    object({ a: text }),
    'harmless at "/a" is now optional',
    'breaking at "/a" is now optional',
  ],
  [
    "a property of an exclusive alternative that became optional",
    { oneOf: [object({ a: text }, ["a"]), object({ b: text }, ["b"])] },
    { oneOf: [object({ a: text }), object({ b: text }, ["b"])] },
    'breaking at "/a" is now optional',
    'breaking at "/a" is now optional',
  ],
  [
    "another type and other limits",
    { ...text, maxLength: 1 },
    { ...number, maximum: 1 },
    'breaking changed in "maxLength", "type", "maximum"',
    'breaking changed in "maxLength", "type", "maximum"',
  ],
  [
    "a new value of an enum",
    object({ a: { enum: ["a", "b"] } }),
    object({ a: { enum: ["a", "b", "c"] } }),
    'breaking at "/a" changed in "enum"',
    'breaking at "/a" changed in "enum"',
  ],
  ["anything that became a string", true, text, 'breaking changed in "type"', 'breaking changed in "type"'],
  ["anything in another form", object({ a: {} }), object({ a: true }), "", ""],
  [
    "a closed object",
    object({ a: text }),
    { ...object({ a: text }), additionalProperties: false },
    'breaking changed in "additionalProperties"',
    'breaking changed in "additionalProperties"',
  ],
  [
    "other values of a map",
    { type: "object", additionalProperties: text },
    { type: "object", additionalProperties: number },
    'breaking at "/*" changed in "type"',
    'breaking at "/*" changed in "type"',
  ],
  [
    "other elements",
    { type: "array", items: object({ a: text }), prefixItems: [text] },
    { type: "array", items: object({ a: text, b: text }), prefixItems: [number] },
    'breaking at "/0" changed in "type"\nharmless at "/*/b" is new',
    'breaking at "/0" changed in "type"\nharmless at "/*/b" is new',
  ],
  [
    "a longer tuple",
    { type: "array", prefixItems: [text], items: false },
    { type: "array", prefixItems: [text, text], items: false },
    'breaking changed in "prefixItems"',
    'breaking changed in "prefixItems"',
  ],
  [
    "a new property of one of several alternatives",
    { anyOf: [object({ kind: { const: "a" } }), { type: "null" }] },
    { anyOf: [object({ kind: { const: "a" }, x: text }), { type: "null" }] },
    'harmless at "/x" is new',
    'harmless at "/x" is new',
  ],
  [
    "a new property of one of several exclusive alternatives",
    { oneOf: [object({ kind: { const: "a" } }, ["kind"]), object({ kind: { const: "b" } }, ["kind"])] },
    { oneOf: [object({ kind: { const: "a" } }, ["kind"]), object({ kind: { const: "b" }, x: text }, ["kind"])] },
    'harmless at "/x" is new',
    'harmless at "/x" is new',
  ],
  [
    "a new alternative",
    { anyOf: [text, number] },
    { anyOf: [text, number, { type: "null" }] },
    'breaking changed in "anyOf"',
    'breaking changed in "anyOf"',
  ],
  [
    "an assertion that TypeScript cannot express",
    { ...text, not: object({}) },
    { ...text, not: object({ a: text }) },
    'breaking at "/a" is new',
    'breaking at "/a" is new',
  ],
  [
    "a definition instead of an inline schema",
    object({ a: object({ b: text }) }),
    { ...object({ a: { $ref: "#/$defs/x" } }), $defs: { x: object({ b: text }) } },
    "",
    "",
  ],
  [
    "a change inside a recursive definition",
    { $ref: "#/$defs/n", $defs: { n: object({ next: { $ref: "#/$defs/n" }, v: text }) } },
    { $ref: "#/$defs/m", $defs: { m: object({ next: { $ref: "#/$defs/m" }, v: number }) } },
    'breaking at "/v" changed in "type"',
    'breaking at "/v" changed in "type"',
  ],
  [
    "only descriptions",
    object({ a: text }),
    object({ a: { ...text, description: "New." } }),
    "documentation",
    "documentation",
  ],
])("%s", (_title, before, after, input, output) => {
  for (const [side, expected] of [["input", input] as const, ["output", output] as const]) {
    const changes = findChanges([createSpec({ [side]: before })], [createSpec({ [side]: after })]);
    const lines = expected === "" ? [] : expected.split("\n").sort();
    expect(changes).toEqual(
      lines.map((line) => {
        if (line === "documentation") return "harmless task.create: The documentation changed.";
        return line.replace(" ", ` task.create: The ${side} `).replace(/$/, ".");
      }),
    );
  }
});

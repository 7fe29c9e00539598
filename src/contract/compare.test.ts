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
    'breaking at "/a" no longer allows any value\nharmless at "/a" is new',
    'harmless at "/a" is new\nharmless at "/a" no longer allows any value',
  ],
  [
    "a new property of a closed object",
    { ...object({ b: text }), additionalProperties: false },
    { ...object({ b: text, a: text }), additionalProperties: false },
    'harmless at "/a" is new',
    'breaking at "/a" is new',
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
    "a closed object",
    object({ a: text }),
    { ...object({ a: text }), additionalProperties: false },
    "breaking no longer allows other properties",
    "harmless no longer allows other properties",
  ],
  [
    "a map of other values",
    { type: "object", additionalProperties: text },
    { type: "object", additionalProperties: { type: ["string", "null"] } },
    'harmless at "/*" now allows null',
    'breaking at "/*" now allows null',
  ],
  [
    "a new value of an enum",
    { enum: ["a", "b"] },
    { enum: ["a", "b", "c"] },
    'harmless now allows "c"',
    'breaking now allows "c"',
  ],
  [
    "a removed value of an enum",
    { enum: ["a", "b"] },
    { enum: ["a"] },
    'breaking no longer allows "b"',
    'harmless no longer allows "b"',
  ],
  [
    "an enum that became a string",
    { enum: ["a", "b"] },
    text,
    "harmless now allows string",
    "breaking now allows string",
  ],
  [
    "a string that became an enum",
    text,
    { enum: ["a"] },
    "breaking no longer allows string",
    "harmless no longer allows string",
  ],
  [
    "anything that became a string",
    {},
    text,
    "breaking no longer allows any value",
    "harmless no longer allows any value",
  ],
  [
    "another type",
    text,
    number,
    "breaking no longer allows string\nharmless now allows number",
    "harmless no longer allows string\nbreaking now allows number",
  ],
  [
    "an integer that became a number",
    { type: "integer" },
    number,
    "harmless may now be a fraction",
    "breaking may now be a fraction",
  ],
  [
    "a greater minimum",
    { ...number, minimum: 1 },
    { ...number, minimum: 2 },
    "breaking has minimum 2 instead of 1",
    "harmless has minimum 2 instead of 1",
  ],
  [
    "a greater maximum",
    { ...text, maxLength: 1 },
    { ...text, maxLength: 2 },
    "harmless has maxLength 2 instead of 1",
    "breaking has maxLength 2 instead of 1",
  ],
  [
    "another pattern",
    { ...text, pattern: "^a" },
    { ...text, pattern: "^b" },
    'breaking has pattern "^b" instead of "^a"',
    'breaking has pattern "^b" instead of "^a"',
  ],
  [
    "other elements",
    { type: "array", items: text },
    { type: "array", items: number },
    'breaking at "/*" no longer allows string\nharmless at "/*" now allows number',
    'harmless at "/*" no longer allows string\nbreaking at "/*" now allows number',
  ],
  [
    "a longer tuple",
    { type: "array", prefixItems: [text], items: false },
    { type: "array", prefixItems: [text, text], items: false },
    'harmless at "/1" now allows string',
    'breaking at "/1" now allows string',
  ],
  [
    "a changed member of a union",
    { anyOf: [text, object({ a: text })] },
    { anyOf: [text, object({ a: number })] },
    'breaking at "/a" no longer allows string\nharmless at "/a" now allows number',
    'harmless at "/a" no longer allows string\nbreaking at "/a" now allows number',
  ],
  [
    "a new property of one of several exclusive alternatives",
    { oneOf: [object({ kind: { const: "a" } }, ["kind"]), object({ kind: { const: "b" } }, ["kind"])] },
    { oneOf: [object({ kind: { const: "a" } }, ["kind"]), object({ kind: { const: "b" }, x: text }, ["kind"])] },
    'harmless at "/x" is new',
    'harmless at "/x" is new',
  ],
  [
    "a new property of one of several alternatives that exclude each other only by oneOf",
    { oneOf: [object({ a: text }), object({ b: text })] },
    { oneOf: [object({ a: text }), object({ b: text, c: text })] },
    'breaking changed in "oneOf"\nharmless at "/c" is new',
    'breaking changed in "oneOf"\nharmless at "/c" is new',
  ],
  [
    "an assertion that TypeScript cannot express",
    { ...text, not: { const: "a" } },
    { ...text, not: { const: "b" } },
    'breaking changed in "not"',
    'breaking changed in "not"',
  ],
  [
    "another order and form",
    { anyOf: [object({ a: text }), text, object({ b: text })] },
    { anyOf: [object({ b: text }), { allOf: [object({ a: text })] }, text] },
    "",
    "",
  ],
  [
    "an intersection instead of an object",
    object({ a: text, b: text }, ["b"]),
    { allOf: [object({ a: text, b: text }), { required: ["b"] }] },
    "",
    "",
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
    { $ref: "#/$defs/m", $defs: { m: object({ next: { $ref: "#/$defs/m" }, v: { type: ["string", "null"] } }) } },
    'harmless at "/v" now allows null',
    'breaking at "/v" now allows null',
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

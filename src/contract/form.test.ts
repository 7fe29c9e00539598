import fc from "fast-check";
import { expect, test } from "vitest";
import { FromSchema, Type } from "../index.ts";
import { readPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { compileSchema } from "../schema/index.ts";
import {
  choiceOf,
  type Field,
  fieldKindOf,
  fieldsIn,
  labelsOf,
  openForm,
  parseNumber,
  startValueOf,
  writeDraft,
} from "./form.ts";
import { samples } from "./testing.ts";

/** Returns the kinds of the fields of a form by pointer, for a draft. */
function kindsOf(schema: unknown, draft: unknown): Record<string, string> {
  const kinds: Record<string, string> = {};
  const visit = (field: Field) => {
    const value = readPointer(draft, field.pointer);
    const kind = fieldKindOf(field, value);
    const key = field.isRequired ? field.pointer : `${field.pointer}?`;
    kinds[key] = key in kinds ? `${kinds[key]} ${kind}` : kind;
    if (value !== undefined) for (const inner of fieldsIn(field, value)) visit(inner);
  };
  visit(openForm(schema));
  return kinds;
}

test("each field has the kind that fits its schema", () => {
  const schema = {
    type: "object",
    required: ["name", "rank"],
    properties: {
      name: { type: "string" },
      text: { type: "string", contentMediaType: "text/markdown" },
      long: { type: "string" },
      rank: { type: "integer" },
      isDone: { type: "boolean" },
      size: { enum: ["s", "m"] },
      day: { type: "string", format: "date" },
      at: { type: "string", format: "date-time" },
      time: { type: "string", format: "time" },
      picture: { format: "binary" },
      labels: { type: "object", additionalProperties: { type: "string" } },
      tags: { type: "array", items: { type: "string" } },
      pair: { type: "array", prefixItems: [{ type: "number" }, { type: "string" }], minItems: 1, items: false },
      note: { type: ["string", "null"] },
      nothing: { type: "null" },
      any: {},
      not: { not: { type: "string" } },
      wrong: { type: "string" },
    },
  };
  const draft = {
    name: "a",
    text: "b",
    long: "c".repeat(81),
    rank: 1,
    isDone: false,
    size: "s",
    day: "2026-01-31",
    at: "",
    time: "12:00",
    picture: { base64: "AA==" },
    labels: { x: "y" },
    tags: ["t"],
    pair: [1],
    note: null,
    nothing: null,
    any: { a: [1] },
    not: 1,
    wrong: 1,
    other: 2,
  };

  expect(kindsOf(schema, draft)).toEqual({
    "": "object",
    "/name": "text",
    "/text?": "multiline",
    "/long?": "multiline",
    "/rank": "number",
    "/isDone?": "switch",
    "/size?": "enum",
    "/day?": "date",
    "/at?": "date-time",
    "/time?": "time",
    "/picture?": "bytes",
    "/labels?": "map",
    "/labels/x?": "text",
    "/tags?": "list",
    "/tags/0?": "text",
    "/pair?": "tuple",
    "/pair/0": "number",
    "/pair/1?": "text",
    "/note?": "union null",
    "/nothing?": "null",
    "/any?": "json",
    "/not?": "json",
    "/wrong?": "json",
    "/other?": "json",
  });
});

test("a property that is not set is a field, and setting it starts with an empty value", () => {
  const schema = {
    type: "object",
    properties: {
      text: { type: "string", title: "The text", default: "x" },
      kind: { const: "a" },
      owner: {
        type: "object",
        properties: { kind: { const: "person" }, name: { type: "string" } },
        required: ["kind", "name"],
      },
      flag: { type: "boolean" },
      either: { anyOf: [{ type: "number" }, { type: "null" }] },
      list: { type: "array" },
      file: { format: "binary" },
      any: {},
    },
  };
  const fields = fieldsIn(openForm(schema), {});

  expect(Object.fromEntries(fields.map((field) => [field.label, startValueOf(field)]))).toEqual({
    "The text": "",
    kind: "a",
    owner: { kind: "person" },
    flag: false,
    either: 0,
    list: [],
    file: { base64: "" },
    any: null,
  });
  expect(fields[0]!.shape.annotation("default")).toBe("x");
});

test("members of a union are named by title, definition, discriminator or form, and the value selects one", () => {
  const tagged = (kind: string, name: string) => ({
    type: "object",
    properties: { kind: { const: kind }, [name]: { type: "string" } },
    required: ["kind"],
  });
  const named = openForm({
    anyOf: [
      { type: "string", title: "Any day" },
      { $ref: "#/$defs/range" },
      { type: "array" },
      { type: "object", properties: { a: {} } },
    ],
    $defs: { range: { type: "number" } },
  });
  const animals = openForm({ oneOf: [tagged("cat", "claws"), tagged("dog", "tail")] });
  const levels = openForm({ oneOf: [{ const: 1, title: "Low" }, { const: 2, title: "High" }, { type: "null" }] });

  expect(labelsOf(named)).toEqual(["Any day", "range", "array", "{ a }"]);
  expect(labelsOf(animals)).toEqual(["cat", "dog"]);
  expect([fieldKindOf(levels, 1), labelsOf(levels)]).toEqual(["enum", ["Low", "High", "null"]]);
  expect(
    [named, named, animals, animals, animals].map((form, index) => {
      return choiceOf(form, ["x", {}, { kind: "dog" }, { kind: "cow" }, undefined][index]);
    }),
  ).toEqual([0, 3, 1, -1, -1]);
  expect(
    fieldsIn(animals, { kind: "dog", tail: "short" })
      .flatMap((field) => fieldsIn(field, { kind: "dog" }))
      .map(({ pointer }) => pointer),
  ).toEqual(["/kind", "/tail"]);
  // The member that the user chooses keeps its fields while the value has another form.
  expect(
    fieldsIn(animals, undefined, 1)
      .flatMap((field) => fieldsIn(field, undefined))
      .map(({ pointer }) => pointer),
  ).toEqual(["/kind", "/tail"]);
});

test("a member of a union stays selected while its value is filled in", () => {
  const pay = (by: string, name: string) => ({
    type: "object",
    properties: { by: { const: by }, [name]: { type: "integer" } },
    required: ["by", name],
  });
  const form = openForm({ anyOf: [pay("card", "number"), pay("invoice", "days"), { type: "object" }] });

  expect(choiceOf(form, { by: "invoice" }, 1)).toBe(1);
  expect(choiceOf(form, { by: "invoice", days: "x" }, 1)).toBe(1);
  expect(choiceOf(form, { by: "card" }, 1)).toBe(2);
  expect(choiceOf(openForm({ anyOf: [pay("card", "number"), pay("invoice", "days")] }), { by: "invoice" })).toBe(1);
  expect(fieldKindOf(form, { by: "invoice" })).toBe("union");
});

test("recursive schemas open level by level", () => {
  const Node = Type.Cyclic(
    { Node: Type.Object({ value: Type.String(), next: Type.Optional(Type.Ref("Node")) }) },
    "Node",
  );
  let [fields, depth] = [[openForm(Node)], 0];
  while (depth < 1_000) {
    fields = fieldsIn(fields[0]!, {}).filter(({ pointer }) => pointer.endsWith("/next"));
    depth += 1;
  }
  expect([fields.length, fieldKindOf(fields[0]!, undefined)]).toEqual([1, "object"]);
});

test("a draft is written by pointers, without changing the one before", () => {
  const draft = Object.freeze({ a: Object.freeze([1, 2]), b: Object.freeze({ "x/y": 1 }) });

  expect(writeDraft(draft, "/a/1", 3)).toEqual({ a: [1, 3], b: { "x/y": 1 } });
  expect(writeDraft(draft, "/a/2", 3)).toEqual({ a: [1, 2, 3], b: { "x/y": 1 } });
  expect(writeDraft(draft, "/a/0", undefined)).toEqual({ a: [2], b: { "x/y": 1 } });
  expect(writeDraft(draft, "/b/x~1y", undefined)).toEqual({ a: [1, 2], b: {} });
  expect(writeDraft(undefined, "/c/d", 1)).toEqual({ c: { d: 1 } });
  expect(Object.keys(writeDraft({}, "/__proto__", 1) as object)).toEqual(["__proto__"]);
  expect((writeDraft(draft, "/a/0", 5) as typeof draft).b).toBe(draft.b);
  expect(writeDraft(draft, "", undefined)).toBeUndefined();
});

test.each([
  ["1", 1],
  [" -1.5e3 ", -1500],
  ["", undefined],
  ["1,5", undefined],
  ["0x10", undefined],
  ["9007199254740993", undefined],
  ["1e400", undefined],
])("the number %j is read as %j", (text, expected) => {
  expect(parseNumber(text)).toBe(expected);
});

/** Writes what every field shows into a new draft. */
function copyByFields(schema: unknown, value: unknown): unknown {
  let draft: unknown;
  const visit = (field: Field) => {
    const own = readPointer(value, field.pointer);
    if (own === undefined) return;
    const kind = fieldKindOf(field, own);
    const inner = fieldsIn(field, own);
    if (kind === "union") return inner.forEach(visit);
    const isContainer = ["object", "map", "list", "tuple"].includes(kind);
    draft = writeDraft(draft, field.pointer, isContainer ? (isObject(own) ? {} : []) : own);
    inner.forEach(visit);
  };
  visit(openForm(schema));
  return draft;
}

test("a form keeps every value, also one that its schema does not accept", () => {
  fc.assert(
    fc.property(samples, ({ schema, values }) => {
      const compiled = compileSchema(FromSchema(schema));
      for (const value of values.filter((each) => each !== undefined)) {
        expect([compiled.check(value), copyByFields(schema, value)]).toEqual([compiled.check(value), value]);
      }
    }),
  );
});

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { type OperationSpec, Type } from "../index.ts";
import { isObject } from "../internal/objects.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const compiler = join(dirname(createRequire(import.meta.url).resolve("@typescript/native/package.json")), "bin", "tsc");

/** Creates a spec. `input` and `output` are schemas. */
export function createSpec(changes: Partial<OperationSpec> & { input?: object; output?: object }): OperationSpec {
  const { input = Type.Object({}), output = Type.Unknown(), ...others } = changes;
  return {
    namespace: "task",
    name: "create",
    version: "1.0.0",
    type: "mutation",
    description: "",
    inputSchema: input as OperationSpec["inputSchema"],
    outputSchema: output as OperationSpec["outputSchema"],
    accessControl: { requiredScopes: [] },
    ...others,
  };
}

/** A folder with a program that compiles against the sources of this package. It is removed at the end of its scope. */
export class Program implements Disposable {
  readonly folder: string;

  /** @param files - contents by file name */
  constructor(files: Readonly<Record<string, string>>) {
    const cache = join(root, "node_modules", ".cache");
    mkdirSync(cache, { recursive: true });
    this.folder = mkdtempSync(join(cache, "operations-types-"));
    const config = { extends: join(root, "tsconfig.json"), include: ["."], exclude: [] };
    const all = { "tsconfig.json": JSON.stringify(config), "package.json": '{ "type": "module" }', ...files };
    for (const [file, content] of Object.entries(all)) writeFileSync(join(this.folder, file), content);
  }

  /** Returns the lines that the compiler reports for the files of the program. */
  compile(): Promise<string[]> {
    // One checker, because more of them would repeat work while other tests need the cores.
    const args = [compiler, "-p", this.folder, "--checkers", "1", "--pretty", "false"];
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: this.folder, maxBuffer: 1e8 }, (_error, stdout) => {
        resolve(stdout.split("\n").filter((line) => line !== "" && !line.startsWith("../")));
      });
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** A schema and values that it probably accepts. */
export interface Sample {
  schema: Record<string, unknown>;
  values: readonly unknown[];
}

/** Values that do not fit into one line. */
const longEnum = Array.from({ length: 15 }, (_, index) => `value ${index}`);

const leaves: fc.Arbitrary<Sample> = fc.oneof(
  fc.record({ schema: fc.constant({ type: "string" }), values: fc.array(fc.string(), { minLength: 1, maxLength: 2 }) }),
  fc.record({
    schema: fc.constant({ type: "integer" }),
    values: fc.array(fc.integer(), { minLength: 1, maxLength: 2 }),
  }),
  fc.constant({ schema: { type: ["boolean", "null"] }, values: [true, null] }),
  fc.constant({ schema: { type: "string", nullable: true, minLength: 1 }, values: ["a", null] }),
  fc.constant({ schema: {}, values: [1, "a", [null], { a: {} }] }),
  fc.constant({ schema: { enum: longEnum }, values: longEnum.slice(0, 2) }),
  fc
    .uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.constantFrom(null, true, false)), {
      minLength: 1,
      maxLength: 4,
    })
    .map((values) => ({ schema: { enum: values }, values })),
  fc
    .oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    .map((value) => ({ schema: { const: value }, values: [value] })),
);

const names = fc.constantFrom("a", "b", "c-d", "E", "9", "self");

/** Schemas of every form that the printer knows, with values. */
export const samples: fc.Arbitrary<Sample> = fc.letrec<{ node: Sample }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaves,
    tie("node").map(({ schema, values }) => ({ schema: { type: "array", items: schema }, values: [[], values] })),
    fc.tuple(fc.array(tie("node"), { minLength: 1, maxLength: 3 }), fc.boolean(), fc.nat(3)).map(toTuple),
    fc.tuple(fc.dictionary(names, tie("node"), { maxKeys: 3, noNullPrototype: true }), fc.array(names)).map(toObject),
    fc.tuple(fc.dictionary(names, tie("node"), { maxKeys: 2, noNullPrototype: true }), tie("node")).map(toMap),
    fc.tuple(tie("node"), tie("node"), fc.constantFrom("anyOf", "oneOf")).map(([left, right, keyword]) => ({
      schema: { [keyword]: [left.schema, right.schema] },
      values: [...left.values.slice(0, 2), ...right.values.slice(0, 2)],
    })),
    fc.tuple(tie("node"), tie("node")).map(toIntersection),
    tie("node").map(toRecursive),
  ),
})).node;

function toTuple([items, isClosed, required]: [Sample[], boolean, number]): Sample {
  const minItems = Math.min(required, items.length);
  const value = items.map(({ values }) => values[0]);
  return {
    schema: {
      type: "array",
      prefixItems: items.map(({ schema }) => schema),
      minItems,
      ...(isClosed && { items: false }),
    },
    values: [value, value.slice(0, minItems), ...(isClosed ? [] : [[...value, "more"]])],
  };
}

function toObject([members, required]: [Record<string, Sample>, string[]]): Sample {
  const all = Object.fromEntries(Object.entries(members).map(([name, { values }]) => [name, values[0]]));
  const some = Object.fromEntries(Object.entries(all).filter(([name]) => required.includes(name)));
  const properties = Object.fromEntries(Object.entries(members).map(([name, { schema }]) => [name, schema]));
  const schema = { type: "object", properties, required: required.filter((name) => Object.hasOwn(members, name)) };
  return { schema: { ...schema, required: [...new Set(schema.required)] }, values: [all, some] };
}

function toMap([members, rest]: [Record<string, Sample>, Sample]): Sample {
  const { schema, values } = toObject([members, []]);
  const [all] = values as [object];
  return { schema: { ...schema, additionalProperties: rest.schema }, values: [all, { ...all, "x y": rest.values[0] }] };
}

function toIntersection([left, right]: [Sample, Sample]): Sample {
  const [one, other] = [left.values[0], right.values[0]];
  const both = isObject(one) && isObject(other) ? [{ ...one, ...other }] : [];
  return { schema: { allOf: [left.schema, right.schema] }, values: [one, other, ...both] };
}

/** References are relative to the root, so a recursive schema has its own id. */
function toRecursive({ schema, values }: Sample): Sample {
  const $id = `https://example.com/${JSON.stringify(schema).length}-${JSON.stringify(values).length}`;
  const properties = { value: schema, self: { $ref: "#" } };
  return { schema: { $id, type: "object", properties }, values: [{}, { value: values[0], self: { self: {} } }] };
}

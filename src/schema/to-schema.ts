import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { TSchema } from "typebox";
import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import { convertSchema, FromSchema } from "./from-schema.ts";
import { applicators, forEachSubschema, type SchemaObject } from "./keywords.ts";
import { isMarked } from "./marks.ts";
import { SchemaError } from "./schema-error.ts";

/** The validation of the library that a schema was written in. Its output may differ from its input. */
export type StandardValidate = (
  value: unknown,
) => StandardSchemaV1.Result<unknown> | Promise<StandardSchemaV1.Result<unknown>>;

/** The side of a Standard Schema: the values that callers send, or the result of its transformations. */
export type Direction = "input" | "output";

/** A schema that can be written as JSON, and the validation of its library. */
export interface UsableSchema {
  schema: TSchema;
  /** Absent for TypeBox types and JSON Schema, which `schema` describes completely. */
  validate?: StandardValidate;
}

/**
 * Accepts a TypeBox type, JSON Schema, or a Standard Schema that provides its JSON Schema. Throws `SchemaError` for
 * anything else, and for code (refinements, codecs) that would be lost in JSON. Nothing is compiled, and JSON Schema is read on
 * its first use. `where` names the schema in errors.
 */
export function toSchema(value: unknown, direction: Direction, where: string): UsableSchema {
  if (isStandardSchema(value)) return fromStandardSchema(value["~standard"], direction, where);
  if (typeof value === "boolean") return { schema: FromSchema(value) };
  if (!isObject(value)) {
    throw new SchemaError(
      "",
      `it must be a TypeBox type, JSON Schema or Standard Schema, not ${describeValue(value)}.`,
      {
        where,
      },
    );
  }
  if (isMarked(value)) assertNoCode(value, where);
  else assertNotProperties(value, where);
  return { schema: value as TSchema };
}

/** Throws `SchemaError` unless a value is a TypeBox type, JSON Schema, or Standard Schema that provides its JSON Schema. */
export function assertIsSchema(value: unknown, label = "Schema"): asserts value is TSchema {
  toSchema(value, "input", label);
}

type Standard = StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>;

/** Returns whether a value is a Standard Schema: an object, or a function as in ArkType. */
export function isStandardSchema(value: unknown): value is { "~standard": Standard } {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  const standard = (value as Record<string, unknown>)["~standard"];
  return isObject(standard) && typeof standard["validate"] === "function";
}

/** How to get a schema that provides its JSON Schema, by library. */
const providing: Readonly<Record<string, string>> = {
  valibot: "Wrap it in toStandardJsonSchema() of @valibot/to-json-schema.",
  zod: 'Import it from "zod", version 4.2 or later: zod/mini has no JSON Schema.',
};

function fromStandardSchema(standard: Standard, direction: Direction, where: string): UsableSchema {
  if (typeof standard.jsonSchema?.[direction] !== "function") {
    const { vendor } = standard;
    const advice = providing[vendor] ?? "Use a version of the library that provides ~standard.jsonSchema.";
    throw new SchemaError("", `the schema of ${vendor} does not provide its JSON Schema. ${advice}`, { where });
  }
  let json: unknown;
  try {
    json = standard.jsonSchema[direction]({
      target: "draft-2020-12",
      libraryOptions: libraryOptions[standard.vendor],
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `${standard.vendor} cannot convert it to JSON Schema: ${reason.replace(/\.?$/, ".")}`;
    throw new SchemaError("", `${message}${hintFor(reason, standard.vendor, direction)}`, { where, cause });
  }
  return { schema: convertSchema(json), validate: (value) => standard.validate(value) };
}

/** Refuses the ArkType types that JSON cannot represent. By default ArkType writes a schema that accepts any value. */
const arkTypeFallback = {
  date: () => refuse("Date"),
  domain: ({ domain }: { domain: string }) => refuse(domain),
  proto: ({ proto }: { proto: { name: string } }) => refuse(proto.name),
  unit: ({ unit, base }: { unit: unknown; base: object }) => {
    // An optional property may also be `undefined`, which JSON drops.
    return unit === undefined ? base : refuse(unit instanceof Date ? "Date" : typeof unit);
  },
};

/** What Valibot passes to a function that can replace the JSON Schema of an action. */
interface ValibotAction {
  readonly valibotAction: { readonly kind: string; readonly type: string };
  readonly jsonSchema: object;
  readonly errors: readonly string[] | undefined;
}

/** Transformations of Valibot whose result has the type of their input. */
const keepsType =
  /^(?:trim|trim_start|trim_end|normalize|to_(?:lower|upper)_case|to_(?:min|max)_value|(?:filter|sort)_items)$/;

/** Options of the conversions to JSON Schema, by library. */
const libraryOptions: Readonly<Record<string, Record<string, unknown>>> = {
  arktype: { fallback: arkTypeFallback },
  zod: {
    // Zod describes a file as a string, which no file is.
    override: ({ zodSchema }: { zodSchema: { _zod: { def: { type: string } } } }) => {
      if (zodSchema._zod.def.type === "file") refuse("File");
    },
  },
  valibot: {
    // Leave out what JSON Schema cannot express and only Valibot applies, as Zod and ArkType do.
    overrideAction: ({ valibotAction: { kind, type }, jsonSchema, errors }: ValibotAction) => {
      const isUnknown = errors?.[0]?.startsWith(`The "${type}" action cannot be converted`);
      return isUnknown && (kind === "validation" || keepsType.test(type)) ? jsonSchema : undefined;
    },
  },
};

function refuse(type: string): never {
  throw new TypeError(`${type} cannot be represented in JSON Schema`);
}

interface Hint {
  /** Matches the name of the type in the messages of the libraries. */
  readonly pattern: RegExp;
  /** The side that the advice is for. @default both */
  readonly direction?: Direction;
  readonly advice: string;
  /** Code to write instead, by library. */
  readonly examples: Readonly<Record<string, string>>;
}

const hints: readonly Hint[] = [
  {
    pattern: /\bdate\b/i,
    direction: "input",
    advice: "JSON has no dates. Describe the string, and convert it where the handler needs a Date",
    examples: {
      zod: "z.iso.datetime().transform((value) => new Date(value))",
      valibot: "v.pipe(v.string(), v.isoTimestamp(), v.transform((value) => new Date(value)))",
      arktype: 'type("string.date.iso.parse")',
    },
  },
  {
    pattern: /\bdate\b/i,
    advice: "JSON has no dates. Describe the string, and return date.toISOString()",
    examples: {
      zod: "z.iso.datetime()",
      valibot: "v.pipe(v.string(), v.isoTimestamp())",
      arktype: 'type("string.date.iso")',
    },
  },
  {
    pattern: /\bbigint\b/i,
    direction: "input",
    advice: "JSON has no bigints. Describe the digits as a string, and convert them where the handler needs a bigint",
    examples: {
      zod: "z.string().regex(/^-?[0-9]+$/).transform(BigInt)",
      valibot: "v.pipe(v.string(), v.regex(/^-?[0-9]+$/), v.transform(BigInt))",
      arktype: 'type("string.integer").pipe(BigInt)',
    },
  },
  {
    pattern: /\bbigint\b/i,
    advice: "JSON has no bigints. Describe the digits as a string, and return String(value)",
    examples: { zod: "z.string()", valibot: "v.string()", arktype: 'type("string.integer")' },
  },
  {
    pattern: /\b(map|set)\b/i,
    advice: "JSON has neither maps nor sets. Use a record or an array",
    examples: {
      zod: "z.record(z.string(), value)",
      valibot: "v.record(v.string(), value)",
      arktype: '"Record<string, unknown>"',
    },
  },
  {
    pattern: /\b(undefined|void)\b/i,
    direction: "input",
    advice: "JSON has no undefined. Make a property optional, and describe an operation without input as an object",
    examples: { zod: "z.object({})", valibot: "v.object({})", arktype: "type({})" },
  },
  {
    pattern: /\b(undefined|void)\b/i,
    advice: "JSON has no undefined. Make a property optional, and return null for no result",
    examples: { zod: "z.null()", valibot: "v.null()", arktype: 'type("null")' },
  },
  {
    pattern: /\b(file|blob|buffer|arraybuffer|\w+\d+(clamped)?array)\b/i,
    advice: "JSON has no bytes. Describe them as a string in base64",
    examples: { zod: "z.base64()", valibot: "v.pipe(v.string(), v.base64())", arktype: 'type("string.base64")' },
  },
  {
    pattern: /\b(custom|instance)\b/i,
    advice: "Code has no schema. Describe the value, and add the check",
    examples: {
      zod: "z.string().refine(check)",
      valibot: "v.pipe(v.string(), v.check(check))",
      arktype: 'type("string").narrow(check)',
    },
  },
  {
    pattern: /\b(transform|morph)/i,
    advice: "The result of a transformation has no schema. Describe it after the transformation",
    examples: {
      zod: ".pipe(z.number())",
      valibot: "v.number() as the last step of v.pipe()",
      arktype: '.to("number")',
    },
  },
  {
    pattern: /represented in JSON Schema|schema cannot be converted/,
    advice: "JSON has no such values. Describe the value that is sent instead",
    examples: { zod: "z.string()", valibot: "v.string()", arktype: 'type("string")' },
  },
];

/** Returns an alternative to a type that JSON cannot represent. The libraries report such types only in a message. */
function hintFor(reason: string, vendor: string, side: Direction): string {
  const hint = hints.find(({ pattern, direction = side }) => pattern.test(reason) && direction === side);
  if (hint === undefined) return "";
  const example = hint.examples[vendor];
  return ` ${hint.advice}${example === undefined ? "." : `: ${example}.`}`;
}

/** Code that makes a schema of properties, by library. */
const objectSchemas: Readonly<Record<string, string>> = {
  zod: "z.object({ … })",
  valibot: "v.object({ … })",
  arktype: "type({ … })",
};

/**
 * Refuses `{ title: Type.String() }`, which other libraries accept as an object. As a JSON Schema it would accept any value,
 * because `title` is not a keyword that contains a schema.
 */
function assertNotProperties(value: SchemaObject, where: string): void {
  for (const name in value) {
    if (applicators.has(name)) continue;
    const held = value[name];
    const isStandard = isStandardSchema(held);
    if (!isStandard && !(isObject(held) && isMarked(held))) continue;
    const vendor = isStandard ? held["~standard"].vendor : "";
    const advice = Object.hasOwn(objectSchemas, vendor) ? objectSchemas[vendor] : "Type.Object({ … })";
    throw new SchemaError("", `it is a list of properties, not a schema. Write ${advice}.`, { where });
  }
}

function assertNoCode(schema: SchemaObject, where: string): void {
  if (hasCode(schema)) refuseCode(schema, "", where);
}

/** Returns whether a schema contains code, or `undefined` in place of a schema. Builds no pointers, so that registering thousands of operations stays cheap. */
function hasCode(schema: SchemaObject): boolean {
  if (codeIn(schema) !== undefined) return true;
  for (const keyword in schema) {
    const holding = applicators.get(keyword);
    const held = schema[keyword];
    if (keyword === "items" && held === undefined) return true;
    if (holding === undefined || typeof held !== "object" || held === null) continue;
    if (holding === "one" || (holding === "oneOrList" && !Array.isArray(held))) {
      if (hasCode(held as SchemaObject)) return true;
    } else {
      for (const key in held) {
        const subschema = (held as SchemaObject)[key];
        if (subschema === undefined || (isObject(subschema) && hasCode(subschema))) return true;
      }
    }
  }
  return false;
}

function refuseCode(schema: unknown, pointer: string, where: string): void {
  if (!isObject(schema)) return;
  const code = codeIn(schema);
  if (code !== undefined) throw new SchemaError(pointer, `${code} is code and would be lost in JSON.`, { where });
  forEachSubschema(schema, (subschema, ...path) => {
    const inner = extendPointer(pointer, ...path);
    // Options such as `additionalProperties` may be undefined.
    if (subschema === undefined && (path.length > 1 || path[0] === "items")) {
      throw new SchemaError(inner, "the schema is undefined. Check that it is defined before it is used.", { where });
    }
    refuseCode(subschema, inner, where);
  });
}

function codeIn(schema: SchemaObject): string | undefined {
  if ("~refine" in schema) return "Type.Refine";
  if ("~codec" in schema) return "Type.Codec";
  return schema["pattern"] instanceof RegExp ? "a RegExp as pattern (use its source)" : undefined;
}

import type { TSchema } from "typebox";
import { Errors } from "typebox/schema";
import { Settings } from "typebox/system";
import { escapeToken } from "../internal/json-pointer.ts";
import { type CheckFunction, compileCheck, type Executable, isStackOverflow } from "./check.ts";
import { applicators, isRecord, type SchemaObject } from "./keywords.ts";
import { hide } from "./marks.ts";
import { countParts, TooManySteps } from "./step-meter.ts";

/** One thing that is wrong, as TypeBox tells it. */
export interface FoundError {
  keyword?: string;
  instancePath: string;
  message: string;
  params?: object;
}

const countingStopsAt = 1_000;
/** So many references are followed to say what is wrong, and more for large values; this takes some 100 ms. */
const mostFollowed = 20_000;
/** Larger values are taken apart: TypeBox looks at every part of a value, and takes its time for those that fit, too. */
const largestWhole = 10_000;
/** Values that are still large so far inside are made to be so. */
const deepest = 64;

/** Says what is wrong with a value that does not fit. */
export function findErrors(executable: Executable, value: unknown): FoundError[] {
  const { maxErrors } = Settings.Get();
  try {
    Settings.Set({ maxErrors: countingStopsAt });
    executable.meter?.begin(value, mostFollowed);
    return new ErrorFinder(executable.context).find(executable.schema, value);
  } catch (error) {
    if (error instanceof TooManySteps) return [atRoot("is not valid, in more ways than can be told")];
    if (isStackOverflow(error)) return [atRoot("is nested too deeply")];
    throw error;
  } finally {
    Settings.Set({ maxErrors });
  }
}

function atRoot(message: string): FoundError {
  return { instancePath: "", message };
}

class ErrorFinder {
  readonly #context: Executable["context"];
  readonly #checks = new Map<unknown, CheckFunction>();
  readonly #found: FoundError[] = [];

  constructor(context: Executable["context"]) {
    this.#context = context;
  }

  find(schema: unknown, value: unknown): FoundError[] {
    this.#look(schema, value, "", 0);
    return this.#found.slice(0, countingStopsAt);
  }

  #look(schema: unknown, value: unknown, path: string, depth: number): void {
    if (depth > deepest) throw new RangeError("too deep");
    const before = this.#found.length;
    const isLarge = countParts(value, largestWhole) >= largestWhole;
    if (isLarge && isRecord(schema)) this.#takeApart(schema, value, path, depth + 1);
    else this.#ask(schema, value, path);
    if (this.#found.length === before) this.#found.push({ instancePath: path, message: "is not valid" });
  }

  #ask(schema: unknown, value: unknown, path: string): void {
    const errors: FoundError[] = Errors(this.#context, schema as TSchema, value)[1];
    for (const error of errors) this.#found.push({ ...error, instancePath: path + error.instancePath });
  }

  /** Looks for what is wrong where a check says that it is. */
  #takeApart(schema: SchemaObject, value: unknown, path: string, depth: number): void {
    const { $ref, allOf } = schema;
    const inPlace = Array.isArray(allOf) ? [...allOf] : [];
    if (typeof $ref === "string") inPlace.push(this.#context[$ref]);
    for (const part of inPlace) if (!this.#fits(part, value)) this.#look(part, value, path, depth);
    this.#ask(withoutParts(schema), value, path);
    for (const [key, part] of partsOf(schema, value)) {
      if (this.#found.length >= countingStopsAt) return;
      const held = (value as SchemaObject)[key];
      if (!this.#fits(part, held)) this.#look(part, held, `${path}/${escapeToken(key)}`, depth);
    }
  }

  #fits(schema: unknown, value: unknown): boolean {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      // Without the meter, which goes on counting for all of them together.
      check = compileCheck({ context: this.#context, schema: schema as TSchema });
      this.#checks.set(schema, check);
    }
    return check(value);
  }
}

/** What a schema says of a value itself, and not of what is in it. */
function withoutParts(schema: SchemaObject): SchemaObject {
  const shallow: SchemaObject = {};
  for (const keyword of Object.keys(schema)) {
    if (keyword !== "$ref" && !applicators.has(keyword)) shallow[keyword] = schema[keyword];
  }
  if ("~refine" in schema) hide(shallow, "~refine", schema["~refine"]);
  return shallow;
}

/** The parts of a value that a schema says something about by itself, and what it says. */
function* partsOf(schema: SchemaObject, value: unknown): Iterable<[key: string, schema: unknown]> {
  const { items, prefixItems, properties, patternProperties, additionalProperties } = schema;
  if (Array.isArray(value)) {
    if (items === undefined || Array.isArray(items) || prefixItems !== undefined) return;
    for (let index = 0; index < value.length; index++) yield [String(index), items];
  } else if (isRecord(value)) {
    const known = isRecord(properties) ? properties : {};
    const others = patternProperties === undefined ? additionalProperties : undefined;
    for (const key of Object.keys(value)) {
      const part = Object.hasOwn(known, key) ? known[key] : others;
      if (part !== undefined) yield [key, part];
    }
  }
}

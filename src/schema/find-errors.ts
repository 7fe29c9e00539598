import type { TSchema } from "typebox";
import { Errors } from "typebox/schema";
import { Settings } from "typebox/system";
import { escapeToken } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { type CheckFunction, type Executable, generateCheck, interpretCheck, isStackOverflow } from "./check.ts";
import { applicators, type SchemaObject } from "./keywords.ts";
import { refine, refinementsOf } from "./marks.ts";
import { atCost, countParts, stepCosts, TooManySteps } from "./step-meter.ts";

/** One error as TypeBox reports it. */
export interface FoundError {
  keyword?: string;
  instancePath: string;
  message: string;
  params?: object;
}

const maxErrorsCounted = 1_000;
/** Values with more parts are searched part by part, because TypeBox visits every part, including valid ones. */
const maxPartsAtOnce = 10_000;
/** The number of levels that are searched one by one. */
const maxSearchDepth = 200;

/** Lists the errors of an invalid value. */
export function findErrors(executable: Executable, value: unknown): FoundError[] {
  const { maxErrors } = Settings.Get();
  const finder = new ErrorFinder(executable);
  try {
    Settings.Set({ maxErrors: maxErrorsCounted });
    return atCost(stepCosts.explained, (it) => finder.find(it))(value);
  } catch (error) {
    if (error instanceof TooManySteps) return finder.foundOrElse("is invalid (too many errors to list)");
    if (isStackOverflow(error)) return finder.foundOrElse("is nested too deeply");
    throw error;
  } finally {
    Settings.Set({ maxErrors });
  }
}

/** The checks that were compiled to find errors, by the context of their references. */
const compiledParts = new WeakMap<object, Map<unknown, CheckFunction>>();

class ErrorFinder {
  readonly #executable: Executable;
  readonly #context: Executable["context"];
  readonly #checks: Map<unknown, CheckFunction>;
  readonly #found: FoundError[] = [];

  constructor(executable: Executable) {
    const { context } = executable;
    this.#executable = executable;
    this.#context = context;
    this.#checks = compiledParts.get(context) ?? new Map();
    compiledParts.set(context, this.#checks);
  }

  find(value: unknown): FoundError[] {
    this.#search(this.#executable.schema, value, "", 0);
    return this.#found.slice(0, maxErrorsCounted);
  }

  foundOrElse(message: string): FoundError[] {
    return this.#found.length > 0 ? this.#found : [{ instancePath: "", message }];
  }

  #search(schema: unknown, value: unknown, path: string, depth: number): void {
    if (depth > maxSearchDepth) throw new RangeError("too deep");
    const before = this.#found.length;
    if (isObject(schema) && isLarge(value)) this.#searchParts(schema, value, path, depth);
    else this.#list(schema, value, path);
    if (this.#found.length === before) this.#found.push({ instancePath: path, message: "is invalid" });
  }

  #list(schema: unknown, value: unknown, path: string): void {
    const errors: FoundError[] = Errors(this.#context, schema as TSchema, value)[1];
    for (const error of errors) {
      // Counters have an empty message.
      if (error.message !== "") this.#found.push({ ...error, instancePath: path + error.instancePath });
    }
  }

  /** Searches only the parts that a check rejects. */
  #searchParts(schema: SchemaObject, value: unknown, path: string, depth: number): void {
    const before = this.#found.length;
    const { $ref, allOf } = schema;
    const inPlace = Array.isArray(allOf) ? [...allOf] : [];
    if (typeof $ref === "string") inPlace.push(this.#context[$ref]);
    for (const part of inPlace) if (!this.#check(part, value)) this.#search(part, value, path, depth);
    this.#list(withoutParts(schema), value, path);
    for (const [key, part, isOneOfMany] of partsOf(schema, value)) {
      if (this.#found.length >= maxErrorsCounted) return;
      const held = (value as SchemaObject)[key];
      const isValid = isOneOfMany || isLarge(held) ? this.#check(part, held) : this.#interpret(part, held);
      if (!isValid) this.#search(part, held, `${path}/${escapeToken(key)}`, depth + 1);
    }
    // A refinement may rely on all other assertions.
    if ("~refine" in schema && this.#found.length === before) this.#list(refine(refinementsOf(schema)), value, path);
  }

  #check(schema: unknown, value: unknown): boolean {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      const executable = { ...this.#executable, schema: schema as TSchema };
      check = generateCheck(executable) ?? interpretCheck(executable);
      this.#checks.set(schema, check);
    }
    return check(value);
  }

  /** Checks a part once without compiling, which would take longer than it saves. */
  #interpret(schema: unknown, value: unknown): boolean {
    return interpretCheck({ ...this.#executable, schema: schema as TSchema })(value);
  }
}

function isLarge(value: unknown): boolean {
  return countParts(value, maxPartsAtOnce) >= maxPartsAtOnce;
}

/** Returns the assertions of a schema about the value itself, without those about its parts. */
function withoutParts(schema: SchemaObject): SchemaObject {
  const shallow: SchemaObject = {};
  for (const keyword of Object.keys(schema)) {
    if (keyword !== "$ref" && !applicators.has(keyword)) shallow[keyword] = schema[keyword];
  }
  return shallow;
}

/** Returns whether a keyword applies to parts independently of other keywords. */
function isIndependent(schema: SchemaObject, keyword: string): boolean {
  if (keyword === "items") return !Array.isArray(schema["items"]) && schema["prefixItems"] === undefined;
  return keyword !== "additionalProperties" || schema["patternProperties"] === undefined;
}

/** Yields the parts of a value that a schema describes on its own, with their schemas. */
function* partsOf(
  schema: SchemaObject,
  value: unknown,
): Iterable<[key: string, schema: unknown, isOneOfMany: boolean]> {
  const { items, properties, additionalProperties, required } = schema;
  if (Array.isArray(value)) {
    if (items === undefined || !isIndependent(schema, "items")) return;
    for (let index = 0; index < value.length; index++) yield [String(index), items, true];
  } else if (isObject(value) && !ArrayBuffer.isView(value)) {
    const declared = isObject(properties) ? properties : {};
    const others = isIndependent(schema, "additionalProperties") ? additionalProperties : undefined;
    for (const key of Object.keys(others === undefined ? declared : value)) {
      if (!Object.hasOwn(value, key)) continue;
      if (!Object.hasOwn(declared, key)) yield [key, others, true];
      else if (value[key] !== undefined || (Array.isArray(required) && required.includes(key))) {
        yield [key, declared[key], false];
      }
    }
  }
}

import type { TSchema } from "typebox";
import { Errors } from "typebox/schema";
import { Settings } from "typebox/system";
import { escapeToken } from "../internal/json-pointer.ts";
import { type CheckFunction, type Executable, generateCheck, interpretCheck, isStackOverflow } from "./check.ts";
import { applicators, isRecord, type SchemaObject } from "./keywords.ts";
import { hide } from "./marks.ts";
import { atCost, countParts, stepCosts, TooManySteps } from "./step-meter.ts";

/** One thing that is wrong, as TypeBox tells it. */
export interface FoundError {
  keyword?: string;
  instancePath: string;
  message: string;
  params?: object;
}

const countingStopsAt = 1_000;
/** Larger values are taken apart: TypeBox looks at every part of a value, and takes its time for those that fit, too. */
const largestWhole = 10_000;
/** How many levels of a large value are looked at, one by one. */
const deepest = 200;

/** Says what is wrong with a value that does not fit. */
export function findErrors(executable: Executable, value: unknown): FoundError[] {
  const { maxErrors } = Settings.Get();
  const finder = new ErrorFinder(executable);
  try {
    Settings.Set({ maxErrors: countingStopsAt });
    return atCost(stepCosts.explained, (it) => finder.find(it))(value);
  } catch (error) {
    if (error instanceof TooManySteps) return finder.foundOr("is not valid, in more ways than can be told");
    if (isStackOverflow(error)) return finder.foundOr("is nested too deeply");
    throw error;
  } finally {
    Settings.Set({ maxErrors });
  }
}

/** What was compiled to find errors, by the definitions that it refers to. */
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
    this.#look(this.#executable.schema, value, "", 0);
    return this.#found.slice(0, countingStopsAt);
  }

  foundOr(message: string): FoundError[] {
    return this.#found.length > 0 ? this.#found : [{ instancePath: "", message }];
  }

  #look(schema: unknown, value: unknown, path: string, depth: number): void {
    if (depth > deepest) throw new RangeError("too deep");
    const before = this.#found.length;
    if (isRecord(schema) && isLarge(value)) this.#takeApart(schema, value, path, depth);
    else this.#ask(schema, value, path);
    if (this.#found.length === before) this.#found.push({ instancePath: path, message: "is not valid" });
  }

  #ask(schema: unknown, value: unknown, path: string): void {
    const errors: FoundError[] = Errors(this.#context, schema as TSchema, value)[1];
    for (const error of errors) {
      // What only counts has nothing to say.
      if (error.message !== "") this.#found.push({ ...error, instancePath: path + error.instancePath });
    }
  }

  /** Looks for what is wrong where a check says that it is. */
  #takeApart(schema: SchemaObject, value: unknown, path: string, depth: number): void {
    const before = this.#found.length;
    const { $ref, allOf } = schema;
    const inPlace = Array.isArray(allOf) ? [...allOf] : [];
    if (typeof $ref === "string") inPlace.push(this.#context[$ref]);
    for (const part of inPlace) if (!this.#fits(part, value)) this.#look(part, value, path, depth);
    this.#ask(withoutParts(schema), value, path);
    for (const [key, part, isOneOfMany] of partsOf(schema, value)) {
      if (this.#found.length >= countingStopsAt) return;
      const held = (value as SchemaObject)[key];
      const fits = isOneOfMany || isLarge(held) ? this.#fits(part, held) : this.#interpret(part, held);
      if (!fits) this.#look(part, held, `${path}/${escapeToken(key)}`, depth + 1);
    }
    // What a program checks itself may rely on all the rest.
    if ("~refine" in schema && this.#found.length === before) this.#ask(refinementOf(schema), value, path);
  }

  #fits(schema: unknown, value: unknown): boolean {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      const executable = { ...this.#executable, schema: schema as TSchema };
      check = generateCheck(executable) ?? interpretCheck(executable);
      this.#checks.set(schema, check);
    }
    return check(value);
  }

  /** Compiling would take longer than it saves. */
  #interpret(schema: unknown, value: unknown): boolean {
    return interpretCheck({ ...this.#executable, schema: schema as TSchema })(value);
  }
}

function isLarge(value: unknown): boolean {
  return countParts(value, largestWhole) >= largestWhole;
}

/** What a schema says of a value itself, and not of what is in it. */
function withoutParts(schema: SchemaObject): SchemaObject {
  const shallow: SchemaObject = {};
  for (const keyword of Object.keys(schema)) {
    if (keyword !== "$ref" && !applicators.has(keyword)) shallow[keyword] = schema[keyword];
  }
  return shallow;
}

function refinementOf(schema: SchemaObject): SchemaObject {
  const refinement = {};
  hide(refinement, "~refine", schema["~refine"]);
  return refinement;
}

/** Which items and properties are meant may depend on other keywords. */
function isTakenApart(schema: SchemaObject, keyword: string): boolean {
  if (keyword === "items") return !Array.isArray(schema["items"]) && schema["prefixItems"] === undefined;
  return keyword !== "additionalProperties" || schema["patternProperties"] === undefined;
}

/** The parts of a value that a schema says something about by itself, and what it says. */
function* partsOf(
  schema: SchemaObject,
  value: unknown,
): Iterable<[key: string, schema: unknown, isOneOfMany: boolean]> {
  const { items, properties, additionalProperties, required } = schema;
  if (Array.isArray(value)) {
    if (items === undefined || !isTakenApart(schema, "items")) return;
    for (let index = 0; index < value.length; index++) yield [String(index), items, true];
  } else if (isRecord(value) && !ArrayBuffer.isView(value)) {
    const known = isRecord(properties) ? properties : {};
    const others = isTakenApart(schema, "additionalProperties") ? additionalProperties : undefined;
    for (const key of Object.keys(others === undefined ? known : value)) {
      if (!Object.hasOwn(value, key)) continue;
      if (!Object.hasOwn(known, key)) yield [key, others, true];
      else if (value[key] !== undefined || (Array.isArray(required) && required.includes(key))) {
        yield [key, known[key], false];
      }
    }
  }
}

import type { TSchema } from "typebox";
import { isObject } from "../internal/objects.ts";
import { describeValue, truncate } from "../internal/text.ts";
import { validationError } from "../operation/inside.ts";
import { type CheckFunction, checkInDepth, type Executable, generateCheck, interpretCheck } from "./check.ts";
import { toExecutable } from "./executable.ts";
import { type FoundError, findErrors } from "./find-errors.ts";
import { FromSchema } from "./from-schema.ts";
import { assertsNothing } from "./keywords.ts";
import { isMarked } from "./marks.ts";
import { TooManySteps, withinBound } from "./step-meter.ts";
import { isStandardSchema, toSchema } from "./to-schema.ts";

/** One problem of a value. */
export interface ValueError {
  /** JSON pointer into the value; `""` is the value itself. */
  path: string;
  /** The requirement that the value violates, such as "must be a string". */
  message: string;
}

/** The problems of a value. */
export interface ValueErrors {
  /** The first problems. */
  errors: ValueError[];
  /** The number of problems. Counting stops at 1,000. */
  total: number;
}

/** A schema that is ready for checking values. */
export interface CompiledSchema {
  readonly schema: TSchema;
  /** Whether the schema accepts every value because it contains no assertion. */
  readonly isUnknown: boolean;
  /** Returns whether a value is valid. Values that are nested too deeply or need too many steps are not. */
  check(value: unknown): boolean;
  /**
   * The fastest check. It throws for values that are nested too deeply or need too many steps; call {@link check} then.
   */
  readonly throwingCheck: CheckFunction;
  /** Returns the problems of a value. @param limit - maximum number of listed problems, 20 by default */
  errors(value: unknown, limit?: number): ValueErrors;
}

const cache = new WeakMap<object, CompiledSchema>();

/**
 * Returns the compiled form of a TypeBox type, JSON Schema or Standard Schema (its input side), the same one for the same
 * object. Nothing is read or compiled before the first use, which throws `SchemaError` for an unusable schema.
 */
export function compileSchema(schema: TSchema): CompiledSchema {
  if (Object(schema) !== schema) return new LazySchema(schema);
  let compiled = cache.get(schema);
  if (compiled === undefined) {
    compiled = new LazySchema(schema);
    cache.set(schema, compiled);
  }
  return compiled;
}

const maxPathLength = 300;
const maxMessageLength = 400;

class LazySchema implements CompiledSchema {
  readonly schema: TSchema;
  #isUnknown: boolean | undefined;
  #executable: Executable | undefined;
  #run: CheckFunction | undefined;

  constructor(schema: TSchema) {
    this.schema = schema;
  }

  get throwingCheck(): CheckFunction {
    return this.#run ?? this.#compile();
  }

  check(value: unknown): boolean {
    try {
      return this.#check(value);
    } catch (error) {
      if (error instanceof TooManySteps) return false;
      throw error;
    }
  }

  get isUnknown(): boolean {
    this.#isUnknown ??= isUnknown(toJSONForm(this.schema));
    return this.#isUnknown;
  }

  errors(value: unknown, limit = 20): ValueErrors {
    const found = withMergedConstants(withoutDuplicates(withinBound(value, 1, (it) => this.#find(it))));
    const errors = found.slice(0, limit).map((error) => ({
      path: truncate(error.instancePath, maxPathLength),
      message: truncate(messageOf(error), maxMessageLength),
    }));
    return { errors, total: found.length };
  }

  #check(value: unknown): boolean {
    const run = this.#run ?? this.#compile();
    try {
      return run(value);
    } catch (error) {
      return checkInDepth(this.#prepare(), value, error);
    }
  }

  #find(value: unknown): FoundError[] {
    try {
      return this.#check(value) ? [] : findErrors(this.#prepare(), value);
    } catch (error) {
      if (error instanceof TooManySteps)
        return [{ instancePath: "", message: "could not be validated: the check takes too many steps" }];
      throw error;
    }
  }

  #compile(): CheckFunction {
    const executable = this.#prepare();
    this.#run = generateCheck(executable) ?? interpretCheck(executable);
    return this.#run;
  }

  #prepare(): Executable {
    if (this.#executable === undefined) {
      const schema = toJSONForm(this.schema);
      this.#executable = toExecutable(isObject(schema) && isMarked(schema) ? schema : FromSchema(schema));
    }
    return this.#executable;
  }
}

/** Returns the JSON Schema of a Standard Schema, which must not be read directly: Zod's also have a `type` and a `format`. */
function toJSONForm(schema: TSchema): TSchema {
  return isStandardSchema(schema) ? toSchema(schema, "input", "Schema").schema : schema;
}

function isUnknown(schema: unknown): boolean {
  return schema === true || (isObject(schema) && assertsNothing(schema));
}

/** Removes duplicates: an unexpected property is reported at its own path and at the object that contains it. */
function withoutDuplicates(found: FoundError[]): FoundError[] {
  if (!found.some(({ keyword }) => keyword === "boolean")) return found;
  return found.filter(({ keyword }) => keyword !== "additionalProperties" && keyword !== "unevaluatedProperties");
}

/** Replaces the errors of a union of constants, one for each, by a single error that lists them. */
function withMergedConstants(found: FoundError[]): FoundError[] {
  const constants = new Map<string, unknown[]>();
  return found.flatMap((error) => {
    if (error.keyword !== "const") return error;
    const { allowedValue }: KnownParams = error.params ?? {};
    const known = constants.get(error.instancePath);
    if (known !== undefined) {
      known.push(allowedValue);
      return [];
    }
    const allowedValues = [allowedValue];
    constants.set(error.instancePath, allowedValues);
    return { ...error, params: { allowedValues } };
  });
}

/** Parameters of errors whose messages are ours. */
interface KnownParams {
  requiredProperties?: string[];
  allowedValue?: unknown;
  allowedValues?: unknown[];
}

/** Maximum number of values that a message lists. */
const maxListed = 10;

/** Returns the message of an error. A pattern is shown as written in the schema, also where a RegExp replaced it. */
function messageOf({ keyword, message, params = {} }: FoundError): string {
  if (keyword === "boolean") return "is not expected";
  const { requiredProperties, allowedValues }: KnownParams = params;
  if (keyword === "required" && requiredProperties !== undefined) {
    return `must have the required ${requiredProperties.length === 1 ? "property" : "properties"} ${list(requiredProperties)}`;
  }
  if (allowedValues?.every((it) => it === null || typeof it !== "object")) {
    return `must be ${allowedValues.length === 1 ? "" : "one of "}${list(allowedValues)}`;
  }
  if (keyword === "type") return message.replace(/\b(?:array|boolean|integer|number|object|string)\b/g, withArticle);
  const pattern = "pattern" in params ? params.pattern : undefined;
  const isNative = pattern instanceof RegExp && pattern.constructor === RegExp;
  return isNative ? `must match pattern "${pattern.source}"` : message;
}

function withArticle(type: string): string {
  return `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

function list(values: readonly unknown[]): string {
  const items = values.slice(0, maxListed).map(describeValue);
  return [...items, ...(values.length > maxListed ? ["…"] : [])].join(", ");
}

/**
 * Throws `CallError` `VALIDATION_ERROR` for an invalid value, with `details: { errors: [{ path, message }], total }`.
 * `label` names the value in the message.
 */
export function validateOrThrow(schema: TSchema, value: unknown, label = "value"): void {
  const compiled = compileSchema(schema);
  if (compiled.check(value)) return;
  const { errors, total } = compiled.errors(value);
  throw validationError(label, errors, total);
}

/** Returns the problems of a value, at most 20; an empty array for a valid value. */
export function collectErrors(schema: TSchema, value: unknown): ValueError[] {
  return compileSchema(schema).errors(value).errors;
}

/** Formats errors as lines, each with `prefix` before it. */
export function formatValueErrors(errors: Iterable<ValueError>, prefix = ""): string {
  return Array.from(errors, ({ path, message }) => `${prefix}${path === "" ? "(root)" : path}: ${message}`).join("\n");
}

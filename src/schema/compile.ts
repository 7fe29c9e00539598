import type { TSchema } from "typebox";
import { type CheckFunction, checkInDepth, type Executable, generateCheck, interpretCheck } from "./check.ts";
import { toExecutable } from "./executable.ts";
import { type FoundError, findErrors } from "./find-errors.ts";
import { FromSchema } from "./from-schema.ts";
import { isRecord } from "./keywords.ts";
import { assertsNothing, isMarked } from "./marks.ts";
import { TooManySteps, withinBound } from "./step-meter.ts";
import { isStandardSchema, toSchema } from "./to-schema.ts";

/** One thing that is wrong with a value. */
export interface ValueError {
  /** JSON pointer into the value; `""` is the value itself. */
  path: string;
  message: string;
}

/** What is wrong with a value: the first problems, and how many there are. Counting stops at 1,000. */
export interface ValueErrors {
  errors: ValueError[];
  total: number;
}

/** A schema made ready for checking values. */
export interface CompiledSchema {
  readonly schema: TSchema;
  /** Whether every value is accepted, because the schema asserts nothing. */
  readonly isUnknown: boolean;
  /** Tells whether a value fits. Compiles on the first call. Values that are nested too deeply, or take too many steps, do not fit. */
  check(value: unknown): boolean;
  /**
   * The check as the engine made it, which throws for values that are nested too deeply or take too many steps. For those who call it often
   * and ask {@link check} when it throws.
   */
  readonly unguarded: CheckFunction;
  /** Says what is wrong with a value. @param limit - how many problems are listed, 20 unless told otherwise */
  errors(value: unknown, limit?: number): ValueErrors;
}

const cache = new WeakMap<object, CompiledSchema>();

/**
 * Gives the compiled form of a TypeBox type, JSON Schema or Standard Schema (its input side), always the same one for
 * the same object. Cheap: nothing is read or compiled before the first use. A schema that turns out to be unusable
 * throws `SchemaError` then.
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

const tooManySteps = "takes too many steps to be checked to the end";
const longestPath = 300;
const longestMessage = 400;

class LazySchema implements CompiledSchema {
  readonly schema: TSchema;
  #isUnknown: boolean | undefined;
  #executable: Executable | undefined;
  #run: CheckFunction | undefined;

  constructor(schema: TSchema) {
    this.schema = schema;
  }

  get unguarded(): CheckFunction {
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
    const found = withoutEchoes(withinBound(value, 1, (it) => this.#find(it)));
    const errors = found.slice(0, limit).map((error) => ({
      path: shorten(error.instancePath, longestPath),
      message: shorten(messageOf(error), longestMessage),
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
      if (error instanceof TooManySteps) return [{ instancePath: "", message: tooManySteps }];
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
      this.#executable = toExecutable(isRecord(schema) && isMarked(schema) ? schema : FromSchema(schema));
    }
    return this.#executable;
  }
}

/** A Standard Schema would pass for JSON Schema: Zod's have a `type` and a `format` too. */
function toJSONForm(schema: TSchema): TSchema {
  return isStandardSchema(schema) ? toSchema(schema, "input", "Schema").schema : schema;
}

function isUnknown(schema: unknown): boolean {
  return schema === true || (isRecord(schema) && assertsNothing(schema));
}

/** A property that is not expected is told where it stands, and not once more at the object that has it. */
function withoutEchoes(found: FoundError[]): FoundError[] {
  const isEcho = ({ keyword }: FoundError) => keyword === "additionalProperties" || keyword === "unevaluatedProperties";
  if (!found.some(({ keyword }) => keyword === "boolean")) return found;
  return found.filter((error) => !isEcho(error));
}

/** A pattern reads as it was written, also where a RegExp took its place. */
function messageOf({ keyword, message, params = {} }: FoundError): string {
  if (keyword === "boolean") return "is not expected";
  const pattern = "pattern" in params ? params.pattern : undefined;
  const isNative = pattern instanceof RegExp && pattern.constructor === RegExp;
  return isNative ? `must match pattern "${pattern.source}"` : message;
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 3)}...` : text;
}

import type { TSchema } from "typebox";
import { Build, Check } from "typebox/schema";
import { type StepMeter, TooManySteps } from "./step-meter.ts";

/** A schema in the form that TypeBox's compiler takes: references lead to the names in `context`. */
export interface Executable {
  context: Record<string, TSchema>;
  schema: TSchema;
  /** For schemas that could take a check for ever. Its checks throw {@link TooManySteps} then. */
  meter?: StepMeter;
}

/** So many references may a check follow, and more for large values; this takes some 10 ms. */
const generatedSteps = 500_000;
/** The same for a check that is interpreted, which takes ten times as long for each. */
const interpretedSteps = 50_000;

/** Tells whether a value fits. */
export type CheckFunction = (value: unknown) => boolean;

/**
 * Compiles a check. It answers `false` for values that are nested too deeply to be checked, and throws
 * {@link TooManySteps}.
 */
export function compileCheck(executable: Executable): CheckFunction {
  const run = generateCheck(executable) ?? interpretCheck(executable);
  return (value) => {
    try {
      return run(value);
    } catch (error) {
      return checkInDepth(executable, value, error);
    }
  };
}

/** The check without code generation. Throws a stack overflow for values that are nested too deeply. */
export function interpretCheck({ context, schema, meter }: Executable): CheckFunction {
  if (meter === undefined) return (value) => Check(context, schema, value);
  return metered((value) => Check(context, schema, value), meter, interpretedSteps);
}

/** Answers after `error` was thrown by a check: `false` for values that are nested too deeply. */
export function checkInDepth(executable: Executable, value: unknown, error: unknown): boolean {
  if (!isStackOverflow(error) || error instanceof TooManySteps) throw error;
  try {
    // Either the value is nested too deeply or the generated code is; only the latter can be interpreted.
    return interpretCheck(executable)(value);
  } catch (another) {
    if (isStackOverflow(another) && !(another instanceof TooManySteps)) return false;
    throw another;
  }
}

/**
 * The generated check, as the engine made it: it throws a stack overflow for values that are nested too deeply.
 * `undefined` where code cannot be generated: forbidden by the environment, or the schema is too deep for it.
 */
export function generateCheck({ context, schema, meter }: Executable): CheckFunction | undefined {
  try {
    const result = Build(context, schema).Evaluate();
    // Without generated code TypeBox would share one evaluation context between all checks.
    if (!result.IsAccelerated()) return undefined;
    // The function itself where it can be had: a thousand schemas are called faster without a method in between.
    const generated: unknown = result["check"];
    const run =
      typeof generated === "function" ? (generated as CheckFunction) : (value: unknown) => result.Check(value);
    return meter === undefined ? run : metered(run, meter, generatedSteps);
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}

function metered(run: CheckFunction, meter: StepMeter, steps: number): CheckFunction {
  return (value) => {
    meter.begin(value, steps);
    try {
      return run(value);
    } finally {
      meter.end();
    }
  };
}

/** Engines disagree about the class; V8 and JavaScriptCore say RangeError, SpiderMonkey InternalError. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "InternalError");
}

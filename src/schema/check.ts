import type { TSchema } from "typebox";
import { Build, Check } from "typebox/schema";
import { atCost, type StepMeter, stepCosts, TooManySteps } from "./step-meter.ts";

/** A schema in the form for TypeBox's compiler: references are names in `context`. */
export interface Executable {
  context: Record<string, TSchema>;
  schema: TSchema;
  /** Present for schemas whose checks may need unbounded time. These checks throw {@link TooManySteps}. */
  meter?: StepMeter;
  /** Whether generated code tracks evaluated properties and items, which is much slower. */
  isTracked?: boolean;
}

/** Returns whether a value is valid. */
export type CheckFunction = (value: unknown) => boolean;

/** Compiles a check. It returns `false` for values that are nested too deeply, and throws {@link TooManySteps}. */
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

/** Creates the check without code generation. It throws a stack overflow for values that are nested too deeply. */
export function interpretCheck({ context, schema, meter }: Executable): CheckFunction {
  if (meter === undefined) return (value) => Check(context, schema, value);
  return atCost(stepCosts.interpreted, (value) => Check(context, schema, value));
}

/** Repeats a check that threw `error`. Returns `false` for values that are nested too deeply. */
export function checkInDepth(executable: Executable, value: unknown, error: unknown): boolean {
  if (!isStackOverflow(error) || error instanceof TooManySteps) throw error;
  try {
    // Either the value or the generated code is nested too deeply. Interpreting helps in the second case.
    return interpretCheck(executable)(value);
  } catch (another) {
    if (isStackOverflow(another) && !(another instanceof TooManySteps)) return false;
    throw another;
  }
}

/**
 * Creates the check by code generation. It throws a stack overflow for values that are nested too deeply. Returns `undefined`
 * if code cannot be generated, because the environment forbids it or the schema is nested too deeply.
 */
export function generateCheck({ context, schema, meter, isTracked }: Executable): CheckFunction | undefined {
  try {
    const result = Build(context, schema).Evaluate();
    // Without generated code TypeBox would share one evaluation context between all checks.
    if (!result.IsAccelerated()) return undefined;
    // Prefer the function itself: with a thousand schemas, calls are faster without a method in between.
    const generated: unknown = result["check"];
    const run =
      typeof generated === "function" ? (generated as CheckFunction) : (value: unknown) => result.Check(value);
    return meter === undefined ? run : atCost(isTracked ? stepCosts.tracked : stepCosts.generated, run);
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}

/** Returns whether an error is a stack overflow: RangeError in V8 and JavaScriptCore, InternalError in SpiderMonkey. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "InternalError");
}

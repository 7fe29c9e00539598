import type { TSchema } from "typebox";
import { Build, Check } from "typebox/schema";
import { atCost, type StepMeter, stepCosts, TooManySteps } from "./step-meter.ts";

/** A schema in the form that TypeBox's compiler takes: references lead to the names in `context`. */
export interface Executable {
  context: Record<string, TSchema>;
  schema: TSchema;
  /** For schemas that could take a check for ever. Its checks throw {@link TooManySteps} then. */
  meter?: StepMeter;
  /** Whether generated code keeps track of what was evaluated, which takes much longer. */
  isTracked?: boolean;
}

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
  return atCost(stepCosts.interpreted, (value) => Check(context, schema, value));
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
export function generateCheck({ context, schema, meter, isTracked }: Executable): CheckFunction | undefined {
  try {
    const result = Build(context, schema).Evaluate();
    // Without generated code TypeBox would share one evaluation context between all checks.
    if (!result.IsAccelerated()) return undefined;
    // The function itself where it can be had: a thousand schemas are called faster without a method in between.
    const generated: unknown = result["check"];
    const run =
      typeof generated === "function" ? (generated as CheckFunction) : (value: unknown) => result.Check(value);
    return meter === undefined ? run : atCost(isTracked ? stepCosts.tracked : stepCosts.generated, run);
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}

/** Engines disagree about the class; V8 and JavaScriptCore say RangeError, SpiderMonkey InternalError. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "InternalError");
}

import type { TSchema } from "typebox";
import { Build, Check } from "typebox/schema";

/** A schema in the form that TypeBox's compiler takes: references lead to the names in `context`. */
export interface Executable {
  context: Record<string, TSchema>;
  schema: TSchema;
}

/** Compiles a check. It answers `false` for values that are nested too deeply to be checked. */
export function compileCheck({ context, schema }: Executable): (value: unknown) => boolean {
  const interpret = (value: unknown) => {
    try {
      return Check(context, schema, value);
    } catch (error) {
      if (isStackOverflow(error)) return false;
      throw error;
    }
  };
  const compiled = generate(context, schema);
  if (compiled === undefined) return interpret;
  return (value) => {
    try {
      return compiled.Check(value);
    } catch (error) {
      if (!isStackOverflow(error)) throw error;
      // Either the value is nested too deeply or the generated code is; only the latter can be interpreted.
      return interpret(value);
    }
  };
}

/** `undefined` where code cannot be generated: forbidden by the environment, or the schema is too deep for it. */
function generate(context: Executable["context"], schema: TSchema) {
  try {
    const result = Build(context, schema).Evaluate();
    // Without generated code TypeBox would share one evaluation context between all checks.
    return result.IsAccelerated() ? result : undefined;
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}

/** Engines disagree about the class; V8 and JavaScriptCore say RangeError, SpiderMonkey InternalError. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "InternalError");
}

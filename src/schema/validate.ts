import type { TSchema } from "typebox";
import { validationError } from "../operation/index.ts";
import { compileSchema, type ValueError } from "./compile.ts";

/**
 * Checks a value and throws `CallError` `VALIDATION_ERROR` when it does not fit, with
 * `details: { errors: [{ path, message }], total }`. `label` says in the message what was checked.
 */
export function validateOrThrow(schema: TSchema, value: unknown, label = "value"): void {
  const compiled = compileSchema(schema);
  if (compiled.check(value)) return;
  const { errors, total } = compiled.errors(value);
  throw validationError(label, errors, total);
}

/** Says what is wrong with a value, at most 20 things; an empty array when nothing is. */
export function collectErrors(schema: TSchema, value: unknown): ValueError[] {
  return compileSchema(schema).errors(value).errors;
}

/** Makes errors readable: one line each, every line with `prefix` before it. */
export function formatValueErrors(errors: Iterable<ValueError>, prefix = ""): string {
  return Array.from(errors, ({ path, message }) => `${prefix}${path === "" ? "(root)" : path}: ${message}`).join("\n");
}

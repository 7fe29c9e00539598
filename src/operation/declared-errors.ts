import type { TSchema } from "typebox";
import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError, type CallErrorOptions, hasCode } from "./error.ts";
import { type ValueProblem, validationError } from "./errors.ts";
import type { InferOutput } from "./infer.ts";
import type { AcceptsEmpty } from "./known.ts";
import type { ErrorDefinition } from "./spec.ts";

/** A declared error with a description or an HTTP status besides its schema. */
export interface ErrorDeclaration extends Pick<ErrorDefinition, "description" | "httpStatus"> {
  /** Shape of the error's `details`. */
  schema: object;
}

/** The errors that an operation declares, by code. Each is the schema of its details or an {@link ErrorDeclaration}. */
export type ErrorDeclarations = { readonly [code: string]: object };

/** The `details` of a declared error. */
export type DetailsOf<Declaration> = Declaration extends { "~standard": unknown } | { "~kind": unknown }
  ? InferOutput<Declaration>
  : Declaration extends { readonly schema: infer Schema extends object }
    ? InferOutput<Schema>
    : InferOutput<Declaration>;

/** A `CallError` with a declared code, whose details have the declared shape. */
export type DeclaredError<Code extends string, Details> = CallError & {
  /** The declared code. */
  readonly code: Code;
  /** Details of the failure, in the declared shape. */
  readonly details: Details;
};

/** Creates an error to throw. The details are optional where `undefined` or `{}` is valid. */
export type CreateError<Code extends string, Details> = (
  ...args: AcceptsEmpty<Details> extends true
    ? [details?: Details, message?: string, options?: CallErrorOptions]
    : [details: Details, message?: string, options?: CallErrorOptions]
) => DeclaredError<Code, Details>;

/** `context.errors`: a function for every declared code. */
export type DeclaredErrors<Errors> = {
  readonly [Code in keyof Errors & string]: CreateError<Code, DetailsOf<Errors[Code]>>;
};

/**
 * Returns whether an error has a code that the operation declares; `details` then has the declared type. At run time only
 * the code is compared, so it also works for errors from another process.
 * @example
 * if (isDeclaredError(error, create, "TITLE_TAKEN")) console.log(error.details.title);
 */
export function isDeclaredError<
  Errors extends ErrorDeclarations,
  const Code extends keyof Errors & string = keyof Errors & string,
>(
  error: unknown,
  _operation: { readonly errors?: Errors },
  code: Code,
): error is DeclaredError<Code, DetailsOf<Errors[Code]>> {
  return hasCode(error, code);
}

/** Creates `context.errors` of one operation. It has a function for every code, declared or not. */
export function createDeclaredErrors(
  operationId: string,
  declared: readonly ErrorDefinition[] = [],
): DeclaredErrors<Record<string, object>> {
  const creator =
    (code: string, text = `${quote(operationId)} failed with ${code}.`) =>
    (details?: unknown, message = text, options?: CallErrorOptions) =>
      new CallError(code, message, details, options);
  const known: DeclaredErrors<Record<string, object>> = Object.create(null);
  for (const { code, description } of declared) Object.assign(known, { [code]: creator(code, description) });
  return new Proxy(Object.freeze(known), {
    get(_, code: string | symbol) {
      // Promises and JSON look for these two methods in every object.
      const isKnown = typeof code === "symbol" || code in known || code === "then" || code === "toJSON";
      return isKnown ? known[code as string] : creator(code);
    },
  });
}

/**
 * Returns the `errorSchemas` of a definition. Entries of `errors` replace listed ones with the same code. Throws
 * `VALIDATION_ERROR` for an invalid entry; `id` names the operation.
 */
export function toErrorSchemas(
  id: string,
  listed: readonly ErrorDefinition[] = [],
  errors: ErrorDeclarations,
): ErrorDefinition[] {
  const problems: ValueProblem[] = [];
  const definitions: ErrorDefinition[] = [];
  if (!isObject(errors)) problems.push({ path: "/errors", message: "must be an object with a schema for every code" });
  for (const [code, declaration] of isObject(errors) ? Object.entries(errors) : []) {
    const definition = toErrorDefinition(code, declaration);
    if (definition !== undefined) definitions.push(definition);
    else problems.push({ path: extendPointer("/errors", code), message: declarationMessage });
  }
  if (!Array.isArray(listed) || !listed.every(isObject)) {
    problems.push({ path: "/errorSchemas", message: "must be a list of { code, schema }" });
  }
  if (problems.length > 0) throw validationError(`operation ${quote(id)}`, problems);
  return [...listed.filter(({ code }) => !Object.hasOwn(errors, code)), ...definitions];
}

const declarationMessage =
  "must be a schema or { schema, description, httpStatus }; use Type.Unknown() when the details can be anything";

/** Reads a schema, or an {@link ErrorDeclaration}. Returns `undefined` for anything else. */
function toErrorDefinition(code: string, declaration: unknown): ErrorDefinition | undefined {
  if (isLibrarySchema(declaration)) return { code, schema: declaration };
  if (!isObject(declaration)) return undefined;
  if (!("schema" in declaration)) return "httpStatus" in declaration ? undefined : { code, schema: declaration };
  const { schema, description, httpStatus } = declaration as Partial<ErrorDefinition>;
  if (!isLibrarySchema(schema) && !isObject(schema)) return undefined;
  return { code, description, schema, httpStatus };
}

/** Returns whether a value is a TypeBox type or a Standard Schema, which is a function in ArkType. */
function isLibrarySchema(value: unknown): value is TSchema {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return "~standard" in value || "~kind" in value;
}

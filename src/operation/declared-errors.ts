import { extendPointer } from "../internal/json-pointer.ts";
import { createLookup } from "../internal/lookup.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError, type CallErrorOptions, isCallError } from "./error.ts";
import { validationError } from "./errors.ts";
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

/** Returns whether a value is a `CallError` with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return isCallError(error) && error.code === code;
}

/** Creates `context.errors` of one operation. It has a function for every code, declared or not. */
export function createDeclaredErrors(
  operationId: string,
  declared: readonly ErrorDefinition[] = [],
): DeclaredErrors<Record<string, object>> {
  return createLookup({
    label: "errors",
    find: (code) => {
      const { description = `${quote(operationId)} failed with ${code}.` } =
        declared.find((it) => it.code === code) ?? {};
      return (details?: unknown, message = description, options?: CallErrorOptions) =>
        new CallError(code, message, details, options);
    },
    names: () => declared.map(({ code }) => code),
    allowsReserved: (name) => declared.some(({ code }) => code === name),
  }) as DeclaredErrors<Record<string, object>>;
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
  const problems = isObject(errors)
    ? Object.entries(errors).flatMap(([code, declaration]) => findDeclarationProblems(code, declaration))
    : [{ path: "/errors", message: "must be an object with a schema for every code" }];
  if (!Array.isArray(listed) || !listed.every(isObject)) {
    problems.push({ path: "/errorSchemas", message: "must be a list of { code, schema }" });
  }
  if (problems.length > 0) throw validationError(`operation ${quote(id)}`, problems);
  const others = listed.filter(({ code }) => !Object.hasOwn(errors, code));
  return [...others, ...Object.entries(errors).map(([code, declaration]) => toErrorDefinition(code, declaration))];
}

const declarationMessage =
  "must be a schema or { schema, description, httpStatus }; use Type.Unknown() when the details can be anything";

/** Checks a schema, or an {@link ErrorDeclaration}, whose schema may be a function as in ArkType. */
function findDeclarationProblems(code: string, value: unknown): Array<{ path: string; message: string }> {
  const path = extendPointer("/errors", code);
  if (isLibrarySchema(value)) return [];
  const schema = isObject(value) ? value["schema"] : undefined;
  const hasSchema = isLibrarySchema(schema) || isObject(schema);
  const isSchema = isObject(value) && !("schema" in value) && !("httpStatus" in value);
  return hasSchema || isSchema ? [] : [{ path, message: declarationMessage }];
}

/** Returns whether a value is a TypeBox type or a Standard Schema. */
function isLibrarySchema(value: unknown): boolean {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return "~standard" in value || "~kind" in value;
}

function toErrorDefinition(code: string, declaration: object): ErrorDefinition {
  if (isLibrarySchema(declaration) || !("schema" in declaration)) {
    return { code, schema: declaration as ErrorDefinition["schema"] };
  }
  const { schema, description, httpStatus } = declaration as ErrorDeclaration;
  return {
    code,
    schema: schema as ErrorDefinition["schema"],
    ...(description !== undefined && { description }),
    ...(httpStatus !== undefined && { httpStatus }),
  };
}

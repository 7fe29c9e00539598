import type { TSchema } from "typebox";
import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import {
  array,
  boolean,
  completeFrozen,
  findProblems,
  hasGetter,
  number,
  type ObjectOf,
  object,
  oneOf,
  optional,
  pickPublic,
  record,
  type ShapeProblem,
  schema,
  string,
  unknown,
} from "../internal/shape.ts";
import { quote } from "../internal/text.ts";
import type { OperationContext } from "./context.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import { validationError } from "./errors.ts";
import { namePattern, namespacePattern } from "./operation-id.ts";

/** The three kinds of operation. */
export const OperationType = { QUERY: "query", MUTATION: "mutation", SUBSCRIPTION: "subscription" } as const;
/** `query` reads, `mutation` changes something, `subscription` returns many values. */
export type OperationType = (typeof OperationType)[keyof typeof OperationType];

/** How data that does not match its schema is handled: `cast` (default) repairs, `check` reports, `strict` refuses. */
export type OutputPolicy = "cast" | "check" | "strict";

const accessFields = {
  /** All of these are required; `[]` requires nothing. */
  requiredScopes: array(string(), { message: "must be a list of strings; use [] to require none" }),
  /** One of these is required; if missing nothing is required, and `[]` denies every caller. */
  requiredScopesAny: optional(array(string(), { message: "must be a list of strings; omit it to require none" })),
  /** The type of the resource that the caller must have been granted. Requires `resourceAction`. */
  resourceType: optional(
    string({
      pattern: /^[^:]+$/,
      message: "must be a string without a colon, and is required together with resourceAction",
    }),
  ),
  /** The action that the caller must have been granted on the resource. */
  resourceAction: optional(string({ message: "must be a string, and is required together with resourceType" })),
  /** JSON pointer into the validated input that yields the resource's id, or an array of ids. */
  resourceId: optional(
    string({
      pattern: /^(\/([^~]|~[01])*)?$/,
      description: "JSON pointer into the input",
      message: 'must be a JSON pointer into the input, such as "/id"',
    }),
  ),
  /** Name of a function in the registry's `customAuth`. Only a result of `true` grants access. */
  customAuth: optional(string({ message: "must be the name of a function in the registry's customAuth" })),
};

/** The rights that a caller needs. */
export interface AccessControl extends ObjectOf<typeof accessFields> {}

const errorFields = {
  /** Identifies the error, such as `TASK_NOT_FOUND`. */
  code: string({ minLength: 1, message: 'must be a string such as "TASK_NOT_FOUND"' }),
  /** The condition under which it is thrown. */
  description: optional(string()),
  /** Shape of the error's `details`. */
  schema: schema<TSchema>({ message: "is missing; use Type.Unknown() when the details can be anything" }),
  /** Status of the response over HTTP, 100 to 599. */
  httpStatus: optional(number({ isInteger: true, min: 100, max: 599, message: "must be a status from 100 to 599" })),
};

/** An error that an operation is known to throw. */
export interface ErrorDefinition extends ObjectOf<typeof errorFields> {}

/**
 * Every field of a spec. The type, its check, {@link OperationSpecSchema}, the copy that a registry keeps and the announcement
 * to peers all follow from this table: a new field needs one line here.
 */
export const specFields = {
  /** 1 to 64 characters, no dot, no control character. */
  namespace: string({
    pattern: namespacePattern,
    message: "must be 1 to 64 characters without dots or control characters",
  }),
  /** 1 to 256 characters, no control character. The id is `namespace.name`. */
  name: string({ pattern: namePattern, message: "must be 1 to 256 characters without control characters" }),
  /** Version of the operation's contract, such as `1.0.0`. */
  version: string({ message: 'must be a string such as "1.0.0"' }),
  /** Whether it reads, changes something, or returns many values. */
  type: oneOf(["query", "mutation", "subscription"]),
  /** What the operation does. */
  description: string({ message: "must be a string that describes the operation" }),
  /** A TypeBox type, a JSON Schema, or a Standard Schema that has a JSON Schema. */
  inputSchema: schema<TSchema>({ message: "is missing; use Type.Object({}) for an operation without input" }),
  /** Shape of the envelope's `data`; of each value for a subscription. */
  outputSchema: schema<TSchema>({ message: "is missing; use Type.Unknown() when the output can be anything" }),
  /** Access rule for callers. */
  accessControl: object<AccessControl>(accessFields, {
    message: "must be an object; use { requiredScopes: [] } to allow every caller",
  }),
  /** Display name. */
  title: optional(string()),
  /** Labels to find and filter operations by. */
  tags: optional(array(string())),
  /** Errors that it is known to throw. */
  errorSchemas: optional(
    array(object<ErrorDefinition>(errorFields, { message: "must be an object with code and schema" }), {
      isLazy: true,
      message: "must be a list of { code, schema }",
    }),
  ),
  /** Whether two calls have the same effect as one. */
  idempotent: optional(boolean()),
  /** How output that does not match its schema is handled. @default the policy of the registry */
  outputPolicy: optional(oneOf(["cast", "check", "strict"])),
  /** Additional data about the operation that is not part of its contract. Never sent to peers or published. */
  _meta: optional(record(unknown(), { isLazy: true, isPrivate: true })),
};

/** An operation without its code. A spec that was parsed from JSON registers and behaves the same. */
export interface OperationSpec extends ObjectOf<typeof specFields> {}

// Handlers of every input and output must be assignable to one type, and `never` or `unknown` would make `input` unusable
// in `satisfies IOperationDefinition`. The return type of `JSON.parse` is the loosest one.
type Loose = ReturnType<typeof JSON.parse>;

/** Runs a query or mutation. The result is wrapped in an envelope unless it already is one. */
export type OperationHandler<TInput = Loose, TOutput = Loose, TErrors = Loose> = (
  input: TInput,
  context: OperationContext<TErrors>,
) => TOutput | ResponseEnvelope<TOutput> | Promise<TOutput | ResponseEnvelope<TOutput>>;

/** Runs a subscription: an async generator function, or any function that returns an async iterable. */
export type SubscriptionHandler<TInput = Loose, TOutput = Loose, TErrors = Loose> = (
  input: TInput,
  context: OperationContext<TErrors>,
) => AsyncIterable<TOutput | ResponseEnvelope<TOutput>> | Promise<AsyncIterable<TOutput | ResponseEnvelope<TOutput>>>;

/** An operation that can be registered: its spec and the code that runs it. */
export interface IOperationDefinition<TInput = Loose, TOutput = Loose> extends OperationSpec {
  /** Runs the operation. */
  handler: OperationHandler<TInput, TOutput> | SubscriptionHandler<TInput, TOutput>;
  /** Whether declared defaults are filled into the input before it is checked. Sources switch it off. @default true */
  fillDefaults?: boolean;
  /** Returns the input of the page after `envelope`, or `undefined` on the last page. Makes `client.ns.op.pages()` work. */
  nextPage?: (input: TInput, envelope: ResponseEnvelope<TOutput>) => TInput | undefined;
}

/**
 * Throws `VALIDATION_ERROR` unless a value is a valid spec. The message names every invalid field and how to correct it.
 * Schemas are only checked for presence, and errors or meta behind a getter are not read, because sources create them when
 * they are first read.
 */
export function assertValidSpec(spec: unknown): asserts spec is OperationSpec {
  const problems = isObject(spec)
    ? addRuleProblems(findProblems(specFields, spec), spec)
    : [{ path: "", message: "must be an object with namespace, name, version, type, inputSchema and outputSchema" }];
  if (problems.length > 0) throw validationError(`operation ${formatLabel(spec)}`, problems);
}

/** Adds violations of rules that involve more than one field. */
function addRuleProblems(problems: ShapeProblem[], spec: Record<string, unknown>): ShapeProblem[] {
  const { handler, accessControl } = spec;
  if (handler !== undefined && typeof handler !== "function") {
    problems.push({ path: "/handler", message: "must be a function; omit it to register the handler later" });
  }
  if (!hasGetter(spec, "errorSchemas")) addRepeatedCodes(problems, spec["errorSchemas"]);
  // A rule with a misspelt field would allow more callers than intended.
  for (const name in isObject(accessControl) ? accessControl : {}) {
    if (Object.hasOwn(accessFields, name)) continue;
    const message = `is not part of an access rule; use ${Object.keys(accessFields).join(", ")}`;
    problems.push({ path: extendPointer("/accessControl", name), message });
  }
  const { resourceType, resourceAction, resourceId } = (accessControl ?? {}) as Record<string, unknown>;
  if (resourceType === undefined && resourceAction === undefined && resourceId === undefined) return problems;
  for (const [name, value] of Object.entries({ resourceType, resourceAction })) {
    const path = `/accessControl/${name}`;
    if (value === undefined) problems.push({ path, message: accessFields[name as keyof AccessControl].message! });
  }
  return problems;
}

function addRepeatedCodes(problems: ShapeProblem[], errors: unknown): void {
  if (!Array.isArray(errors) || errors.length < 2) return;
  const places = new Map<unknown, string>();
  for (const [index, error] of errors.entries()) {
    if (!isObject(error) || typeof error["code"] !== "string") continue; // It was already reported.
    const [code, place] = [error["code"], `/errorSchemas/${index}`];
    const first = places.get(code);
    if (first === undefined) places.set(code, place);
    else
      problems.push({
        path: `${place}/code`,
        message: `must be unique, but ${quote(code)} is also the code of ${first}`,
      });
  }
}

/** Names the operation as precisely as an invalid spec allows. */
function formatLabel(spec: unknown): string {
  if (!isObject(spec)) return "definition";
  const [namespace, name] = [spec["namespace"], spec["name"]].map((part) => (typeof part === "string" ? part : "?"));
  return quote(`${namespace}.${name}`);
}

/**
 * Returns a frozen copy of a valid spec without properties that are not part of a spec. Without `schemas`, a schema of the
 * copy is read from the spec on first access, like other lazy fields.
 */
export function copySpec(
  spec: OperationSpec,
  schemas?: Pick<OperationSpec, "inputSchema" | "outputSchema">,
): OperationSpec {
  const { namespace, name, version, type, description } = spec;
  const accessControl = copyAccess(spec.accessControl);
  const copy: OperationSpec =
    schemas === undefined
      ? {
          namespace,
          name,
          version,
          type,
          description,
          get inputSchema() {
            return spec.inputSchema;
          },
          get outputSchema() {
            return spec.outputSchema;
          },
          accessControl,
        }
      : {
          namespace,
          name,
          version,
          type,
          description,
          inputSchema: schemas.inputSchema,
          outputSchema: schemas.outputSchema,
          accessControl,
        };
  return completeFrozen(copy, specFields, spec);
}

/**
 * A frozen copy of an access rule that was given as an option, without the parts that are `undefined`. Throws
 * `VALIDATION_ERROR` for an invalid one.
 */
export function toAccessControl(accessControl: unknown): AccessControl {
  const given = { accessControl };
  const problems = addRuleProblems(findProblems({ accessControl: specFields.accessControl }, given), given);
  if (problems.length > 0) throw validationError("options", problems);
  return copyAccess(accessControl as AccessControl);
}

function copyAccess(access: AccessControl): AccessControl {
  const requiredScopes = Object.freeze(access.requiredScopes.slice()) as string[];
  return completeFrozen<AccessControl>({ requiredScopes }, accessFields, access);
}

/** Returns the public fields of a spec, without other properties of the object. The values are not copied. */
export function toPublicSpec(spec: OperationSpec): OperationSpec {
  return pickPublic(specFields, spec);
}

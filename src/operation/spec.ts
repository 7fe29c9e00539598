import type { TSchema } from "typebox";
import { isObject } from "../internal/objects.ts";
import {
  array,
  boolean,
  completeFrozen,
  findProblems,
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

/** What happens to data that does not match its schema: `cast` (default) repairs, `check` reports, `strict` refuses. */
export type OutputPolicy = "cast" | "check" | "strict";

const accessFields = {
  /** All of these are required; `[]` requires nothing. */
  requiredScopes: array(string(), { message: "must be a list of strings; [] demands nothing" }),
  /** One of these is required; if missing nothing is required, and `[]` denies every caller. */
  requiredScopesAny: optional(
    array(string(), { message: "must be a list of strings; leave it out to demand nothing" }),
  ),
  /** With `resourceAction`: the kind of resource that the caller must have been granted. */
  resourceType: optional(
    string({
      pattern: /^[^:]+$/,
      message: "must be a string without colon; it goes together with resourceAction",
    }),
  ),
  /** The action that the caller must have been granted on the resource. */
  resourceAction: optional(string({ message: "must be a string; it goes together with resourceType" })),
  /** JSON pointer into the validated input that yields the resource's id, or an array of ids. */
  resourceId: optional(
    string({
      pattern: /^(\/([^~]|~[01])*)?$/,
      description: "JSON pointer into the input",
      message: 'must be a JSON pointer into the input, such as "/id"',
    }),
  ),
  /** Name of a function in the registry's `customAuth`; only `true` from it allows. */
  customAuth: optional(string({ message: "must be the name of a function in the registry's customAuth" })),
};

/** What a caller must be allowed to do. */
export interface AccessControl extends ObjectOf<typeof accessFields> {}

const errorFields = {
  /** What callers decide by, such as `TASK_NOT_FOUND`. */
  code: string({ minLength: 1, message: 'must be a string such as "TASK_NOT_FOUND"' }),
  /** When it is thrown. */
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
    message: "must be 1 to 64 characters without dot or control character",
  }),
  /** 1 to 256 characters, no control character. The id is `namespace.name`. */
  name: string({ pattern: namePattern, message: "must be 1 to 256 characters without control character" }),
  /** Version of the operation's contract, such as `1.0.0`. */
  version: string({ message: 'must be a string such as "1.0.0"' }),
  /** Whether it reads, changes something, or returns many values. */
  type: oneOf(["query", "mutation", "subscription"]),
  /** What the operation does. */
  description: string({ message: "must be a string that says what the operation does" }),
  /** A TypeBox type, a JSON Schema, or a Standard Schema that has a JSON Schema. */
  inputSchema: schema<TSchema>({ message: "is missing; use Type.Object({}) for an operation without input" }),
  /** Shape of the envelope's `data`; of each value for a subscription. */
  outputSchema: schema<TSchema>({ message: "is missing; use Type.Unknown() when the output can be anything" }),
  /** Who may call it. */
  accessControl: object<AccessControl>(accessFields, {
    message: "must be an object; { requiredScopes: [] } lets everybody call",
  }),
  /** Name for people. */
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
  /** Whether calling twice has the effect of calling once. */
  idempotent: optional(boolean()),
  /** What happens to output that does not match its schema. @default the registry's */
  outputPolicy: optional(oneOf(["cast", "check", "strict"])),
  /** Anything about the operation that is not part of its contract. Never leaves this process. */
  _meta: optional(record(unknown(), { isLazy: true, isPrivate: true })),
};

/** Everything about an operation but its code. JSON: parsed from a string it registers and behaves the same. */
export interface OperationSpec extends ObjectOf<typeof specFields> {}

// Handlers of every input and output must fit one type, and `never`/`unknown` would leave `input` useless in
// `satisfies IOperationDefinition`. What `JSON.parse` returns is the loosest type there is.
type Loose = ReturnType<typeof JSON.parse>;

/** Runs a query or mutation. What it returns is wrapped in an envelope unless it already is one. */
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
  /** Returns the input of the page after `envelope`, `undefined` on the last page. Makes `client.ns.op.pages()` work. */
  nextPage?: (input: TInput, envelope: ResponseEnvelope<TOutput>) => TInput | undefined;
}

/**
 * Throws `VALIDATION_ERROR` unless a value has everything an operation needs, naming every invalid field and what to do.
 * Of schemas it checks the presence only, and it reads no errors or meta behind a getter: sources create them when they
 * are first read.
 */
export function assertValidSpec(spec: unknown): asserts spec is OperationSpec {
  const problems = isObject(spec)
    ? addRuleProblems(findProblems(specFields, spec), spec)
    : [{ path: "", message: "must be an object with namespace, name, version, type and so on" }];
  if (problems.length > 0) throw validationError(`operation ${formatLabel(spec)}`, problems);
}

/** Adds what violates a rule that concerns more than one field. */
function addRuleProblems(
  problems: ShapeProblem[],
  { handler, accessControl }: Record<string, unknown>,
): ShapeProblem[] {
  if (handler !== undefined && typeof handler !== "function") {
    problems.push({ path: "/handler", message: "must be a function; leave it out to register it later" });
  }
  const { resourceType, resourceAction, resourceId } = (accessControl ?? {}) as Record<string, unknown>;
  if (resourceType === undefined && resourceAction === undefined && resourceId === undefined) return problems;
  for (const [name, value] of Object.entries({ resourceType, resourceAction })) {
    const path = `/accessControl/${name}`;
    if (value === undefined) problems.push({ path, message: accessFields[name as keyof AccessControl].message! });
  }
  return problems;
}

/** Names the operation as well as an invalid spec allows. */
function formatLabel(spec: unknown): string {
  if (!isObject(spec)) return "definition";
  const [namespace, name] = [spec["namespace"], spec["name"]].map((part) => (typeof part === "string" ? part : "?"));
  return quote(`${namespace}.${name}`);
}

/**
 * A frozen copy of a valid spec: its rules cannot be changed later, and properties that are not part of a spec are left
 * out. Without `schemas` they are read from the spec when they are read from the copy, as other lazy fields are.
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

function copyAccess(access: AccessControl): AccessControl {
  const requiredScopes = Object.freeze(access.requiredScopes.slice()) as string[];
  return completeFrozen<AccessControl>({ requiredScopes }, accessFields, access);
}

/** The part of a spec that peers may know, without anything else that the object has. The values are shared. */
export function toPublicSpec(spec: OperationSpec): OperationSpec {
  return pickPublic(specFields, spec);
}

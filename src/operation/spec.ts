import { type Static, type TSchema, Type } from "typebox";
import { copyProperty, hasGetter, isObject } from "../internal/objects.ts";
import type { OperationContext } from "./context.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import { namePattern, namespacePattern } from "./operation-id.ts";
import { optional } from "./optional.ts";

/** The three kinds of operation. */
export const OperationType = { QUERY: "query", MUTATION: "mutation", SUBSCRIPTION: "subscription" } as const;
/** `query` reads, `mutation` changes something, `subscription` returns many values. */
export type OperationType = (typeof OperationType)[keyof typeof OperationType];

/** How data that does not match its schema is handled: `cast` (default) repairs, `check` reports, `strict` refuses. */
export type OutputPolicy = "cast" | "check" | "strict";

/** A resource type. A colon would make `a:b` + `c` and `a` + `b:c` the same grant. */
export const resourceTypePattern = /^[^:]+$/;
/** A JSON pointer. */
export const pointerPattern = /^(\/([^~]|~[01])*)?$/;

/** Any JSON Schema; its keywords are checked when it is compiled. */
const anySchema = Type.Unsafe<TSchema>({ type: ["object", "boolean"] });

const accessSchema = Type.Object({
  /** All of these are required; `[]` requires nothing. */
  requiredScopes: Type.Array(Type.String()),
  /** One of these is required; if missing nothing is required, and `[]` denies every caller. */
  requiredScopesAny: optional(Type.Array(Type.String())),
  /** The type of the resource that the caller must have been granted. Requires `resourceAction`. */
  resourceType: optional(Type.String({ pattern: resourceTypePattern.source })),
  /** The action that the caller must have been granted on the resource. */
  resourceAction: optional(Type.String()),
  /** JSON pointer into the validated input that yields the resource's id, or an array of ids. */
  resourceId: optional(Type.String({ description: "JSON pointer into the input", pattern: pointerPattern.source })),
  /** Name of a function in the registry's `customAuth`. Only a result of `true` grants access. */
  customAuth: optional(Type.String()),
});

/** The rights that a caller needs. */
export interface AccessControl extends Static<typeof accessSchema> {}

const errorSchema = Type.Object({
  /** Identifies the error, such as `TASK_NOT_FOUND`. */
  code: Type.String({ minLength: 1 }),
  /** The condition under which it is thrown. */
  description: optional(Type.String()),
  /** Shape of the error's `details`. */
  schema: anySchema,
  /** Status of the response over HTTP, 100 to 599. */
  httpStatus: optional(Type.Integer({ minimum: 100, maximum: 599 })),
});

/** An error that an operation is known to throw. */
export interface ErrorDefinition extends Static<typeof errorSchema> {}

/** Schema of an {@link OperationSpec} in JSON. Additional properties are allowed. */
export const OperationSpecSchema = Type.Object({
  /** 1 to 64 characters, no dot, no control character. */
  namespace: Type.String({ pattern: namespacePattern.source }),
  /** 1 to 256 characters, no control character. The id is `namespace.name`. */
  name: Type.String({ pattern: namePattern.source }),
  /** Version of the operation's contract, such as `1.0.0`. */
  version: Type.String(),
  /** Whether it reads, changes something, or returns many values. */
  type: Type.Union([Type.Literal("query"), Type.Literal("mutation"), Type.Literal("subscription")]),
  /** What the operation does. */
  description: Type.String(),
  /** A TypeBox type, a JSON Schema, or a Standard Schema that has a JSON Schema. */
  inputSchema: anySchema,
  /** Shape of the envelope's `data`; of each value for a subscription. */
  outputSchema: anySchema,
  /** Access rule for callers. */
  accessControl: Type.Unsafe<AccessControl>(accessSchema),
  /** Display name. */
  title: optional(Type.String()),
  /** Labels to find and filter operations by. */
  tags: optional(Type.Array(Type.String())),
  /** Errors that it is known to throw. */
  errorSchemas: optional(Type.Array(Type.Unsafe<ErrorDefinition>(errorSchema))),
  /** Whether two calls have the same effect as one. */
  idempotent: optional(Type.Boolean()),
  /** How output that does not match its schema is handled. @default the policy of the registry */
  outputPolicy: optional(Type.Union([Type.Literal("cast"), Type.Literal("check"), Type.Literal("strict")])),
  /** Additional data about the operation that is not part of its contract. Never sent to peers or published. */
  _meta: optional(Type.Record(Type.String(), Type.Unknown())),
});

/** An operation without its code. A spec that was parsed from JSON registers and behaves the same. */
export interface OperationSpec extends Static<typeof OperationSpecSchema> {}

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

const specNames = Object.keys(OperationSpecSchema.properties) as Array<keyof OperationSpec>;
const optionalNames = specNames.filter((name) => !OperationSpecSchema.required.includes(name as never));
/** The names of the fields of an access rule. */
export const accessNames = Object.keys(accessSchema.properties);

/**
 * Returns a frozen copy of a valid spec without properties that are not part of a spec, with other schemas if they are given.
 * Where the spec has a getter for a schema or an optional field, so has the copy: sources create such values when they are
 * first read.
 */
export function copySpec(
  spec: OperationSpec,
  schemas: Pick<OperationSpec, "inputSchema" | "outputSchema"> = spec,
): OperationSpec {
  const { namespace, name, version, type, description } = spec;
  const isLazy = hasGetter(schemas, "inputSchema") || hasGetter(schemas, "outputSchema");
  // One literal: adding the required fields one by one takes several times as long and more memory.
  const copy = {
    namespace,
    name,
    version,
    type,
    description,
    inputSchema: isLazy ? Type.Never() : schemas.inputSchema,
    outputSchema: isLazy ? Type.Never() : schemas.outputSchema,
    accessControl: copyAccess(spec.accessControl),
  };
  if (isLazy) for (const name of ["inputSchema", "outputSchema"]) copyProperty(schemas, name, copy);
  for (const name of optionalNames) copyProperty(spec, name, copy, freezeCopy);
  return Object.freeze(copy);
}

/** Returns a frozen copy of a valid access rule, so that it cannot change after it was registered. */
export function copyAccess(access: AccessControl): AccessControl {
  // A literal, because most rules have only this field: an object that begins empty has room for more.
  const copy = { requiredScopes: access.requiredScopes };
  const rule: Record<string, unknown> = { ...access }; // Getters are read now.
  for (const name of accessNames) copyProperty(rule, name, copy, freezeCopy);
  return Object.freeze(copy);
}

/** Returns a frozen copy of a list with its objects, or of an object. */
function freezeCopy(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(freezeCopy));
  return isObject(value) ? Object.freeze({ ...value }) : value;
}

/** Returns the fields of a spec that peers receive, without other properties of the object. The values are not copied. */
export function toPublicSpec(spec: OperationSpec): OperationSpec {
  const names = specNames.filter((name) => name !== "_meta" && spec[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, spec[name]])) as unknown as OperationSpec;
}

import { assertObject, withoutUndefined } from "../internal/objects.ts";
import { type DeclaredErrors, type DetailsOf, type ErrorDeclarations, toErrorSchemas } from "./declared-errors.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { InferHandlerInput, InferInput, InferOutput } from "./infer.ts";
import { formatOperationId } from "./operation-id.ts";
import type { AccessControl, OperationHandler, OperationSpec, OperationType, SubscriptionHandler } from "./spec.ts";

/** A method and a path, with the names of properties of the input in braces. */
export type HTTPRoute = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

/** The handler that an operation of this type needs. */
export type HandlerOf<
  Type extends OperationType,
  Input,
  Output,
  Errors = Record<never, never>,
> = Type extends "subscription" ? SubscriptionHandler<Input, Output, Errors> : OperationHandler<Input, Output, Errors>;

/** The fields that determine the type of the handler, and those that only `defineOperation` and the registry read. */
interface DefinitionParts<
  Type extends OperationType,
  InputSchema extends object,
  OutputSchema extends object,
  Errors extends ErrorDeclarations,
> {
  /** Whether it reads, changes something, or returns many values. */
  type: Type;
  /** Schema of the input: a TypeBox type, a JSON Schema literal, or a Standard Schema that has a JSON Schema. */
  inputSchema: InputSchema;
  /** Shape of the data that the handler returns; of each value for a subscription. */
  outputSchema: OutputSchema;
  /** Runs the operation: receives the validated input and the context of the call. */
  handler: HandlerOf<Type, InferHandlerInput<InputSchema>, InferOutput<OutputSchema>, DeclaredErrors<Errors>>;
  /**
   * Errors that callers can rely on, by code: the schema of each error's details, or `{ schema, description, httpStatus }`.
   * The handler throws them with `context.errors`; they become `errorSchemas` of the spec.
   */
  errors?: Errors;
  /** Returns the input of the page after `envelope`, or `undefined` on the last page. Makes `client.ns.op.pages()` work. */
  nextPage?: (
    input: InferHandlerInput<InputSchema>,
    envelope: ResponseEnvelope<InferOutput<OutputSchema>>,
  ) => InferInput<InputSchema> | undefined;
}

/** A definition whose names and schemas are known at compile time. */
export interface OperationDefinition<
  Namespace extends string,
  Name extends string,
  Type extends OperationType,
  InputSchema extends object,
  OutputSchema extends object,
  Errors extends ErrorDeclarations = Record<never, never>,
  Auth extends string = string,
> extends Omit<
      OperationSpec,
      "namespace" | "name" | "accessControl" | keyof DefinitionParts<Type, object, object, ErrorDeclarations>
    >,
    DefinitionParts<Type, InputSchema, OutputSchema, Errors> {
  /** 1 to 64 characters, no dot, no control character. */
  namespace: Namespace;
  /** 1 to 256 characters, no control character. The id is `namespace.name`. */
  name: Name;
  /** Access rule for callers. */
  accessControl: AccessControl & { customAuth?: Auth };
}

/** The same fields, with lists that may be readonly. */
type Relaxed<T> = {
  [Key in keyof T]: T[Key] extends readonly (infer Item)[] | undefined
    ? readonly Item[] | Extract<T[Key], undefined>
    : T[Key];
};

/** Fields that the operations of a namespace share. Each operation can replace them. */
export interface OperationDefaults
  extends Relaxed<Pick<OperationSpec, "tags" | "idempotent" | "outputPolicy" | "_meta">> {
  /** Version of the operation's contract. @default "1.0.0" */
  version?: string;
  /** Access rule for callers. @default any caller */
  accessControl?: Relaxed<AccessControl>;
}

/** The argument of `defineOperation`. Only names, type, schemas and handler are required. */
export interface OperationInit<
  Namespace extends string,
  Name extends string,
  Type extends OperationType,
  InputSchema extends object,
  OutputSchema extends object,
  Errors extends ErrorDeclarations = Record<never, never>,
  Auth extends string = string,
> extends OperationDefaults,
    Relaxed<Pick<OperationSpec, "title" | "errorSchemas">>,
    DefinitionParts<Type, InputSchema, OutputSchema, Errors> {
  /** 1 to 64 characters, no dot, no control character. */
  namespace: Namespace;
  /** 1 to 256 characters, no control character. The id is `namespace.name`. */
  name: Name;
  /** What the operation does. @default "" */
  description?: string;
  /** Access rule for callers. @default any caller */
  accessControl?: Relaxed<AccessControl> & { customAuth?: Auth };
  /**
   * Route of the operation in `serveHTTP`, in addition to the default one, such as `GET /tasks/{id}`. Names in braces are
   * properties of the input. Queries and subscriptions have `GET` or `POST`, mutations any method except `GET`.
   */
  http?: HTTPRoute;
}

const example =
  'defineOperation({ namespace: "task", name: "create", type: "mutation", inputSchema, outputSchema, handler })';

/**
 * Declares an operation and returns its definition, with a default for every omitted field. The handler's input
 * and output are inferred from the schemas; for a subscription the handler is an async generator.
 * @example
 * const create = defineOperation({
 *   namespace: "task",
 *   name: "create",
 *   type: "mutation",
 *   inputSchema: Type.Object({ title: Type.String(), priority: Type.Integer({ default: 3 }) }),
 *   outputSchema: Type.Object({ id: Type.String() }),
 *   errors: { TITLE_TAKEN: Type.Object({ title: Type.String() }) },
 *   handler: async ({ title, priority }, { errors }) => {
 *     if (titles.has(title)) throw errors.TITLE_TAKEN({ title });
 *     return { id: await save(title, priority) };
 *   },
 * });
 */
export function defineOperation<
  const Namespace extends string,
  const Name extends string,
  const Type extends OperationType,
  const InputSchema extends object,
  const OutputSchema extends object,
  const Errors extends ErrorDeclarations = Record<never, never>,
  const Auth extends string = never,
>(
  definition: OperationInit<Namespace, Name, Type, InputSchema, OutputSchema, Errors, Auth>,
): OperationDefinition<Namespace, Name, Type, InputSchema, OutputSchema, Errors, Auth> {
  assertObject("defineOperation", definition, example);
  const { version = "1.0.0", description = "", accessControl = { requiredScopes: [] }, errors } = definition;
  const { http, ...rest } = definition;
  const complete = { ...rest, version, description, accessControl };
  if (http !== undefined) complete._meta = { ...definition._meta, serve: { http } };
  if (errors !== undefined) {
    const id = formatOperationId(definition.namespace, definition.name);
    complete.errorSchemas = toErrorSchemas(id, definition.errorSchemas, errors);
  }
  return complete as never;
}

/** Declares an operation of one namespace. The result of {@link defineNamespace}. */
export type DefineInNamespace<Namespace extends string> = <
  const Name extends string,
  const Type extends OperationType,
  const InputSchema extends object,
  const OutputSchema extends object,
  const Errors extends ErrorDeclarations = Record<never, never>,
  const Auth extends string = never,
>(
  definition: Omit<OperationInit<Namespace, Name, Type, InputSchema, OutputSchema, Errors, Auth>, "namespace">,
) => OperationDefinition<Namespace, Name, Type, InputSchema, OutputSchema, Errors, Auth>;

/**
 * Returns a `defineOperation` for one namespace: `const define = defineNamespace("task", { accessControl })`, then
 * `define({ name: "create", … })`. A definition inherits the fields of `defaults` and may replace them.
 * @example
 * const define = defineNamespace("task", { accessControl: { requiredScopes: ["task"] } });
 */
export function defineNamespace<const Namespace extends string>(
  namespace: Namespace,
  defaults: OperationDefaults = {},
): DefineInNamespace<Namespace> {
  return (definition) => {
    assertObject("defineOperation", definition, example);
    // Fields that are `undefined` must not replace an access rule of the namespace.
    return defineOperation({ ...defaults, ...withoutUndefined(definition), namespace } as never);
  };
}

/** Types of a list of definitions, by id. A name of type `string` matches any id. */
// The condition makes editors show the resolved object instead of this alias.
export type KnownFrom<Definitions extends readonly OperationSpec[]> = Definitions[number] extends infer Each extends
  OperationSpec
  ? {
      [Definition in Each as IdOf<Definition>]: keyof ErrorsOf<Definition> extends never
        ? {
            type: Definition["type"];
            input: InferInput<Definition["inputSchema"]>;
            output: InferOutput<Definition["outputSchema"]>;
          }
        : {
            type: Definition["type"];
            input: InferInput<Definition["inputSchema"]>;
            output: InferOutput<Definition["outputSchema"]>;
            errors: { [Code in keyof ErrorsOf<Definition> & string]: DetailsOf<ErrorsOf<Definition>[Code]> };
          };
    }
  : never;

/** The errors that a definition declares, by code. */
type ErrorsOf<Definition> = Definition extends { errors?: infer Errors extends ErrorDeclarations }
  ? Errors
  : Record<never, never>;

/** The id of a definition, `namespace.name`. */
export type IdOf<Definition extends OperationSpec> = string extends Definition["namespace"] | Definition["name"]
  ? string
  : `${Definition["namespace"]}.${Definition["name"]}`;

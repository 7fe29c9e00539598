import type { ResponseEnvelope } from "./envelope.ts";
import type { InferHandlerInput, InferInput, InferOutput } from "./infer.ts";
import type { Register } from "./known.ts";
import type { OperationHandler, OperationSpec, OperationType, SubscriptionHandler } from "./spec.ts";

/** The handler that an operation of this type needs. */
export type HandlerOf<Type extends OperationType, Input, Output> = Type extends "subscription"
  ? SubscriptionHandler<Input, Output>
  : OperationHandler<Input, Output>;

/** A definition whose names and schemas the compiler knows. */
export interface OperationDefinition<
  Namespace extends string,
  Name extends string,
  Type extends OperationType,
  InputSchema extends object,
  OutputSchema extends object,
> extends OperationSpec {
  namespace: Namespace;
  name: Name;
  type: Type;
  inputSchema: InputSchema;
  outputSchema: OutputSchema;
  handler: HandlerOf<Type, InferHandlerInput<InputSchema>, InferOutput<OutputSchema>>;
  /** Whether declared defaults are filled into the input before it is checked. @default true */
  fillDefaults?: boolean;
  /** Returns the input of the page after `envelope`, or `undefined` on the last page. Makes `client.ns.op.pages()` work. */
  nextPage?: (
    input: InferHandlerInput<InputSchema>,
    envelope: ResponseEnvelope<InferOutput<OutputSchema>>,
  ) => InferInput<InputSchema> | undefined;
}

/**
 * Declares an operation and returns it unchanged. The handler's input and output are inferred from the schemas; for a
 * subscription the handler is an async generator. In a program that declares {@link Register}, a handler that returns
 * what it got from `context.env` writes down its return type, because that env depends on this very operation.
 */
export function defineOperation<
  const Namespace extends string,
  const Name extends string,
  const Type extends OperationType,
  const InputSchema extends object,
  const OutputSchema extends object,
>(
  definition: OperationDefinition<Namespace, Name, Type, InputSchema, OutputSchema>,
): OperationDefinition<Namespace, Name, Type, InputSchema, OutputSchema> {
  return definition;
}

/** What the compiler knows of a list of definitions, by id. A name that is just a `string` stands for any id. */
// The condition makes hovers show the resolved object in place of this alias.
export type KnownFrom<Definitions extends readonly OperationSpec[]> = Definitions[number] extends infer Each extends
  OperationSpec
  ? {
      [Definition in Each as IdOf<Definition>]: {
        type: Definition["type"];
        input: InferInput<Definition["inputSchema"]>;
        output: InferOutput<Definition["outputSchema"]>;
      };
    }
  : never;

/** The id of a definition, `namespace.name`. */
export type IdOf<Definition extends OperationSpec> = string extends Definition["namespace"] | Definition["name"]
  ? string
  : `${Definition["namespace"]}.${Definition["name"]}`;

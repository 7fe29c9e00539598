import { assertObject } from "../internal/objects.ts";
import type {
  CallOptions,
  DataOf,
  InferHandlerInput,
  IOperationDefinition,
  KnownEnv,
  KnownFrom,
  KnownOperations,
  OperationContext,
  OperationSpec,
  ResponseEnvelope,
  SubscribeArguments,
  SubscriptionsOf,
} from "../operation/inside.ts";
import { Call } from "./call.ts";
import { createCheckedEnv } from "./client.ts";
import { createEnv } from "./env.ts";
import { coreOf, isList, OperationRegistry } from "./registry.ts";
import { Subscription } from "./subscription.ts";
import type { CustomAuth, NestedMode, RegistryOptions } from "./types.ts";

/** The functions that the operations name, with their inputs. Any name is allowed if no name is known at compile time. */
type CustomAuthOf<Definition extends OperationSpec> = [AuthName<Definition>] extends [never]
  ? Record<string, CustomAuth>
  : { [Name in AuthName<Definition>]?: CustomAuth<AuthInput<Definition, Name>> };

type AuthName<Definition> = Definition extends { accessControl: { customAuth?: infer Name extends string } }
  ? string extends Name
    ? never
    : Name
  : never;

type AuthInput<Definition, Name> = Definition extends OperationSpec
  ? Name extends AuthName<Definition>
    ? InferHandlerInput<Definition["inputSchema"]>
    : never
  : never;

/** Options of a registry together with the operations that it starts with. */
export interface CreateRegistryOptions<Operations extends readonly IOperationDefinition[]>
  extends Omit<RegistryOptions, "customAuth"> {
  /** Functions that `accessControl.customAuth` names, each with the input of its operations. A missing function denies access. */
  customAuth?: CustomAuthOf<Operations[number]>;
  /** Registered immediately; more can be registered later. Throws when two have the same id. @default none */
  operations?: Operations;
}

/**
 * Creates a typed registry: `execute`, `subscribe`, `buildEnv` and `client` check ids, inputs and outputs at compile
 * time. Without operations the registry is untyped and accepts any id, for operations that are registered or imported later.
 * @example
 * const registry = createRegistry({ operations: [create, list] });
 */
export function createRegistry<const Operations extends readonly IOperationDefinition[] = readonly []>(
  options: CreateRegistryOptions<Operations> & {
    namespace?: "Write createRegistry({ operations: [create] }).";
  } = {},
): OperationRegistry<Operations extends readonly [] ? KnownOperations : KnownFrom<Operations>> {
  const example = "createRegistry({ operations: [create] })";
  if (!Array.isArray(options)) assertObject("createRegistry", options, example);
  const { operations = [], ...registryOptions } = options;
  if (Array.isArray(options) || options.namespace !== undefined || !isList(operations)) {
    throw new TypeError(`createRegistry() takes an object with a list of operations: ${example}.`);
  }
  const registry = new OperationRegistry(registryOptions as RegistryOptions);
  registry.registerAll(operations);
  return registry as never;
}

/**
 * `registry.subscribe` as a function. With the context of a running handler instead of options, the subscription ends with
 * that call.
 */
export function subscribe<
  T = never,
  Known extends KnownOperations = KnownOperations,
  Id extends keyof SubscriptionsOf<Known> & string = keyof SubscriptionsOf<Known> & string,
>(
  registry: OperationRegistry<Known>,
  id: Id,
  ...[input, options]: SubscribeArguments<Known[Id]["input"]>
): AsyncIterableIterator<ResponseEnvelope<DataOf<T, Known[Id]>>> & AsyncDisposable {
  return new Subscription(coreOf(registry), id, input, options).values as never;
}

/** Options of {@link buildEnv}. */
export interface BuildEnvOptions<Known extends KnownOperations> {
  /** The registry whose operations the env calls. */
  registry: OperationRegistry<Known>;
  /**
   * The context of a running handler, or the options of calls that application code makes. Only the first is trusted,
   * and only while its handler runs; everything else is checked against `context.identity`.
   */
  context: OperationContext | CallOptions;
  /** The namespaces that the env contains. @default all */
  allowedNamespaces?: readonly string[];
  /** `attenuate` checks nested calls against the scopes of the caller. @default "trust" */
  nested?: NestedMode;
}

/** Creates functions for all queries and mutations: `env.task.create(input)` returns an envelope. */
export function buildEnv<Known extends KnownOperations>(options: BuildEnvOptions<Known>): KnownEnv<Known> {
  assertObject("buildEnv", options, "buildEnv({ registry, context })");
  const { registry, context, allowedNamespaces, nested = "trust" } = options;
  const core = coreOf(registry);
  const call = Call.of(context, core);
  const env =
    call !== undefined
      ? createEnv(core, allowedNamespaces, (id, input, own) => Call.nested(call, nested, id, input, own))
      : createCheckedEnv(core, context, allowedNamespaces);
  return env as KnownEnv<Known>;
}

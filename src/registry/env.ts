import { createLookup } from "../internal/lookup.ts";
import type { CallOptions, OperationEnv, ResponseEnvelope } from "../operation/index.ts";
import type { RegistryCore } from "./core.ts";

/**
 * Creates an object with a property per namespace, and in it one per operation, which are resolved when they are read.
 * `accepts` decides which namespaces resolve, and `create` which names.
 */
export function createNamedCalls<T>(
  core: RegistryCore,
  label: string,
  create: (id: string) => T | undefined,
  accepts: (namespace: string) => boolean = () => true,
): Record<string, Record<string, T>> {
  const createNamespace = (namespace: string) => {
    const find = (name: string) => create(`${namespace}.${name}`);
    const names = () => [...(core.namespaces.get(namespace)?.keys() ?? [])].filter((name) => find(name) !== undefined);
    return createLookup<T>({ label: `${label}.${namespace}`, find, names });
  };
  return createLookup({
    label,
    find: (namespace) => (accepts(namespace) ? createNamespace(namespace) : undefined),
    names: () => [...core.namespaces.keys()].filter(accepts),
  });
}

/** Runs a call by the id of its operation. */
type Caller = (id: string, input: unknown, options?: CallOptions) => Promise<ResponseEnvelope>;

/** Creates functions for all queries and mutations by namespace and name, or for those of the allowed namespaces. */
export function createEnv(core: RegistryCore, allowed: readonly string[] | undefined, call: Caller): OperationEnv {
  const isAllowed = (namespace: string) => allowed === undefined || allowed.includes(namespace);
  return createNamedCalls(
    core,
    "env",
    (id) => {
      if (core.operations.get(id)?.isSubscription !== false) return undefined;
      return (input?: unknown, options?: CallOptions) => call(id, input, options);
    },
    (namespace) => core.namespaces.has(namespace) && isAllowed(namespace),
  );
}

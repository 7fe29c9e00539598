import { createLookup } from "../internal/lookup.ts";
import type { CallOptions, OperationEnv, ResponseEnvelope } from "../operation/index.ts";
import type { RegistryCore } from "./core.ts";
import type { OperationEntry } from "./operation-entry.ts";

/**
 * Creates an object with a property per namespace, and in it one per operation, which are resolved when they are read.
 * `accepts` decides which namespaces resolve, `create` which names, and `lists` which operations are listed.
 */
export function createNamedCalls<T>(
  core: RegistryCore,
  label: string,
  create: (id: string) => T | undefined,
  accepts: (namespace: string) => boolean = () => true,
  lists: (entry: OperationEntry) => boolean = () => true,
): Record<string, Record<string, T>> {
  const createNamespace = (namespace: string) =>
    createLookup<T>({
      label: `${label}.${namespace}`,
      find: (name) => create(`${namespace}.${name}`),
      names: () => [...(core.namespaces.get(namespace) ?? [])].flatMap(([name, entry]) => (lists(entry) ? [name] : [])),
    });
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
    ({ isSubscription }) => !isSubscription,
  );
}

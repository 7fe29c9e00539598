import { createLookup } from "../internal/lookup.ts";
import type { CallOptions, OperationEnv, ResponseEnvelope } from "../operation/index.ts";
import type { RegistryCore } from "./core.ts";

/** Runs a call by the id of its operation. */
export type Caller = (id: string, input: unknown, options?: CallOptions) => Promise<ResponseEnvelope>;

/** Creates functions for all queries and mutations by namespace and name, or for those of the allowed namespaces. */
export function createEnv(core: RegistryCore, allowed: readonly string[] | undefined, call: Caller): OperationEnv {
  const isAllowed = (namespace: string) => allowed === undefined || allowed.includes(namespace);
  return createLookup({
    label: "env",
    find: (namespace) =>
      isAllowed(namespace) && core.namespaces.has(namespace) ? createEnvNamespace(core, namespace, call) : undefined,
    names: () => [...core.namespaces.keys()].filter(isAllowed),
  });
}

function createEnvNamespace(core: RegistryCore, namespace: string, call: Caller): OperationEnv[string] {
  const entries = () => [...(core.namespaces.get(namespace)?.values() ?? [])];
  return createLookup({
    label: `env.${namespace}`,
    find(name) {
      const entry = core.namespaces.get(namespace)?.get(name);
      if (entry === undefined || entry.isSubscription) return undefined;
      const { id } = entry;
      return (input?: unknown, options?: CallOptions) => call(id, input, options);
    },
    names: () => entries().flatMap(({ spec, isSubscription }) => (isSubscription ? [] : [spec.name])),
  });
}

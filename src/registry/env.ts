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
    find(namespace) {
      return isAllowed(namespace) && core.namesIn(namespace) !== undefined
        ? createEnvNamespace(core, namespace, call)
        : undefined;
    },
    *names() {
      for (const namespace of core.namespaces()) if (isAllowed(namespace)) yield namespace;
    },
  });
}

function createEnvNamespace(core: RegistryCore, namespace: string, call: Caller): OperationEnv[string] {
  return createLookup({
    label: `env.${namespace}`,
    find(name) {
      const entry = core.namesIn(namespace)?.get(name);
      if (entry === undefined || entry.isSubscription) return undefined;
      const { id } = entry;
      return (input?: unknown, options?: CallOptions) => call(id, input, options);
    },
    *names() {
      for (const [name, entry] of core.namesIn(namespace) ?? []) if (!entry.isSubscription) yield name;
    },
  });
}

import { createLookup } from "../internal/lookup.ts";
import type { CallOptions, NestedCallOptions, OperationEnv, ResponseEnvelope } from "../operation/index.ts";
import { CallContext, earlier } from "./call-context.ts";
import type { RegistryCore } from "./core.ts";
import { execute } from "./execute.ts";

/** How nested calls are checked: not at all, because the outer call was, or against the caller's own scopes. */
export type NestedMode = "trust" | "attenuate";

type Caller = (id: string, input: unknown, options?: NestedCallOptions) => Promise<ResponseEnvelope>;

/** The env of a running handler: its calls are nested in the handler's own. */
export function createTrustedEnv(
  core: RegistryCore,
  context: CallContext,
  mode: NestedMode,
  allowed?: readonly string[],
): OperationEnv {
  return createEnv(core, allowed, (id, input, options) => {
    const running = CallContext.isRunning(context);
    if (typeof running === "boolean") return execute(core, id, input, options, context, running && mode === "trust");
    return running.then((still) => execute(core, id, input, options, context, still && mode === "trust"));
  });
}

/** An env for code outside any handler: every call is checked against the identity that was given. */
export function createCheckedEnv(core: RegistryCore, base: CallOptions, allowed?: readonly string[]): OperationEnv {
  return createEnv(core, allowed, (id, input, options) => {
    const { signal, deadline, metadata, onProgress } = options ?? {};
    return execute(core, id, input, mergeOptions(base, { signal, deadline, metadata, onProgress }));
  });
}

function createEnv(core: RegistryCore, allowed: readonly string[] | undefined, call: Caller): OperationEnv {
  const isAllowed = (namespace: string) => allowed === undefined || allowed.includes(namespace);
  return createLookup({
    find(namespace) {
      return isAllowed(namespace) && core.namesIn(namespace) !== undefined
        ? createNamespace(core, namespace, call)
        : undefined;
    },
    *names() {
      for (const namespace of core.namespaces()) if (isAllowed(namespace)) yield namespace;
    },
  });
}

function createNamespace(core: RegistryCore, namespace: string, call: Caller): OperationEnv[string] {
  return createLookup({
    find(name) {
      const entry = core.namesIn(namespace)?.get(name);
      if (entry === undefined || entry.isSubscription) return undefined;
      const { id } = entry;
      return (input?: unknown, options?: NestedCallOptions) => call(id, input, options);
    },
    *names() {
      for (const [name, entry] of core.namesIn(namespace) ?? []) if (!entry.isSubscription) yield name;
    },
  });
}

/** Puts a call's own options on top of those that hold for all calls: either signal aborts, the earlier deadline counts. */
export function mergeOptions(base: CallOptions, own: CallOptions | undefined): CallOptions {
  if (own === undefined) return base;
  return {
    ...base,
    ...own,
    identity: own.identity ?? base.identity,
    metadata: own.metadata ?? base.metadata,
    signal: either(base.signal, own.signal),
    deadline: earlier(base.deadline, own.deadline),
  };
}

function either(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return AbortSignal.any([a, b]);
}

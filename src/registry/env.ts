import { createLookup } from "../internal/lookup.ts";
import type {
  CallOptions,
  NestedCallOptions,
  OperationEnv,
  ResponseEnvelope,
  SubscribeOptions,
} from "../operation/index.ts";
import { CallContext, earlier } from "./call-context.ts";
import type { RegistryCore } from "./core.ts";
import { execute, executeChecked } from "./execute.ts";
import { notStarted } from "./failures.ts";
import { baseSignal, type MergedOptions } from "./guard.ts";

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
    return executeMerged(core, id, input, base, { signal, deadline, metadata, onProgress });
  });
}

function createEnv(core: RegistryCore, allowed: readonly string[] | undefined, call: Caller): OperationEnv {
  const isAllowed = (namespace: string) => allowed === undefined || allowed.includes(namespace);
  return createLookup({
    label: "env",
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
    label: `env.${namespace}`,
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

/** Runs a call with its own options on top of those that hold for all calls. Never throws, whatever the options are. */
export function executeMerged(
  core: RegistryCore,
  id: string,
  input: unknown,
  base: CallOptions,
  own: CallOptions | undefined,
): Promise<ResponseEnvelope> {
  try {
    return executeChecked(core, id, input, mergeOptions(base, own));
  } catch (error) {
    return Promise.reject(notStarted(id, error));
  }
}

/** Puts a call's own options on top of those that hold for all calls: either signal aborts, the earlier deadline counts. */
export function mergeOptions(base: CallOptions, own: SubscribeOptions | undefined): MergedOptions {
  if (own === undefined || own === null) return base;
  return {
    ...base,
    ...own,
    identity: own.identity ?? base.identity,
    metadata: own.metadata ?? base.metadata,
    signal: own.signal ?? base.signal,
    [baseSignal]: own.signal === undefined ? undefined : base.signal,
    deadline: earlier(base.deadline, own.deadline),
  };
}

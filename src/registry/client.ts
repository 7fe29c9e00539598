import { createLookup, setInspection } from "../internal/lookup.ts";
import { describeValue } from "../internal/text.ts";
import {
  type CallableOperation,
  type CallOperation,
  type CallOptions,
  type ClientAny,
  formatOperationId,
  hasCode,
  type NestedCallOptions,
  type OperationEnv,
  type ResponseEnvelope,
  type SubscribeOptions,
  toDataIterator,
  wrongOperationType,
} from "../operation/index.ts";
import { execute } from "./call-run.ts";
import { baseSignal, type CallState, earlier, type MergedOptions } from "./call-state.ts";
import type { RegistryCore } from "./core.ts";
import { dataOf, markPipelineError, notStarted } from "./failures.ts";
import { Subscription } from "./subscription.ts";

/**
 * Options of every call of a client. The options of a single call are merged with them: either signal aborts, and the
 * earlier deadline applies. `timeout` applies to calls without a `timeout` or `deadline`, and does not limit subscriptions.
 */
export type ClientOptions = Pick<CallOptions, "identity" | "signal" | "deadline" | "timeout" | "metadata">;

type AnyOperation = ClientAny<unknown, unknown>;

/** Creates the client of a registry. An unknown name resolves to a function whose call fails and suggests the nearest name. */
export function createClient(core: RegistryCore, options: ClientOptions): Record<string, Record<string, AnyOperation>> {
  return createLookup({
    label: "client",
    find: (namespace) => createClientNamespace(core, namespace, options),
    names: () => core.namespaces(),
  });
}

function createClientNamespace(
  core: RegistryCore,
  namespace: string,
  options: ClientOptions,
): Record<string, AnyOperation> {
  return createLookup({
    label: `client.${namespace}`,
    find: (name) => createOperation(core, `${namespace}.${name}`, options),
    names: () => core.namesIn(namespace)?.keys() ?? [],
  });
}

function createOperation(core: RegistryCore, id: string, base: ClientOptions): AnyOperation {
  const isSubscription = () => core.operations.get(id)?.isSubscription === true;
  const run = (input: unknown, options?: CallOptions) => executeMerged(core, id, input, base, options);
  const iterate = (input: unknown, options?: SubscribeOptions) =>
    new Subscription(core, id, input, mergeOptions({ ...base, timeout: undefined }, options));

  const toOwnData = (envelope: ResponseEnvelope) => dataOf(id, envelope);
  const call = (input?: unknown, options?: SubscribeOptions) =>
    isSubscription() ? toDataIterator(iterate(input, options)) : run(input, options).then(toOwnData);
  const envelope = (input?: unknown, options?: SubscribeOptions) =>
    isSubscription() ? iterate(input, options) : run(input, options);
  async function* pages(input?: unknown, options?: CallOptions) {
    for (let page: unknown = input, last = false; !last; ) {
      const answer = await run(page, options);
      page = core.operations.get(id)?.nextPage?.(page, answer);
      last = page === undefined;
      yield answer;
    }
  }
  const operation = Object.assign(call, { envelope, pages, isError: hasCode }) as unknown as AnyOperation;
  setInspection(operation, () => `[client.${id}]`);
  return operation;
}

/** How nested calls are checked: `trust` skips access rules, `attenuate` checks them against the scopes of the caller. */
export type NestedMode = "trust" | "attenuate";

type Caller = (id: string, input: unknown, options?: NestedCallOptions) => Promise<ResponseEnvelope>;

/** Returns a function that makes calls nested in the call of a running handler. */
function nestedCaller(core: RegistryCore, call: CallState, mode: NestedMode): Caller {
  return (id, input, options) => {
    const running = call.isRunning();
    if (typeof running === "boolean") return execute(core, id, input, options, call, running && mode === "trust");
    return running.then((still) => execute(core, id, input, options, call, still && mode === "trust"));
  };
}

/** Creates the env of a running handler. Its calls are nested in the call of the handler. */
export function createTrustedEnv(
  core: RegistryCore,
  call: CallState,
  mode: NestedMode,
  allowed?: readonly string[],
): OperationEnv {
  return createEnv(core, allowed, nestedCaller(core, call, mode));
}

/** Creates `context.call` of a running handler. */
export function createTrustedCall(core: RegistryCore, state: CallState): CallOperation {
  const call = nestedCaller(core, state, "trust");
  const run = (operation: string | CallableOperation, input?: unknown, options?: NestedCallOptions) => {
    const id = idOf(operation);
    if (id === undefined) {
      const given = describeValue(operation);
      return Promise.reject(new TypeError(`call() takes a definition or the id of an operation, not ${given}.`));
    }
    const entry = core.operations.get(id);
    if (entry?.isSubscription) {
      return Promise.reject(markPipelineError(id, wrongOperationType(id, entry.spec.type, "call")));
    }
    return call(id, input, options).then((envelope) => dataOf(id, envelope));
  };
  return run as never;
}

/** Returns the id of an operation, if the argument has one. It may be any value, because handlers can pass on their input. */
function idOf(operation: unknown): string | undefined {
  if (typeof operation === "string") return operation;
  const { namespace, name } = (operation ?? {}) as Partial<CallableOperation>;
  const hasNames = typeof namespace === "string" && typeof name === "string";
  return hasNames ? formatOperationId(namespace, name) : undefined;
}

/** Creates an env for code outside a handler. Every call is checked against the given identity. */
export function createCheckedEnv(core: RegistryCore, base: CallOptions, allowed?: readonly string[]): OperationEnv {
  return createEnv(core, allowed, (id, input, options) => {
    const { signal, deadline, timeout, metadata, onProgress } = options ?? {};
    return executeMerged(core, id, input, base, { signal, deadline, timeout, metadata, onProgress });
  });
}

function createEnv(core: RegistryCore, allowed: readonly string[] | undefined, call: Caller): OperationEnv {
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
      return (input?: unknown, options?: NestedCallOptions) => call(id, input, options);
    },
    *names() {
      for (const [name, entry] of core.namesIn(namespace) ?? []) if (!entry.isSubscription) yield name;
    },
  });
}

/** Runs a call with the merged options of its client and its own. Never throws, even for invalid options. */
export function executeMerged(
  core: RegistryCore,
  id: string,
  input: unknown,
  base: CallOptions,
  own: CallOptions | undefined,
): Promise<ResponseEnvelope> {
  try {
    return execute(core, id, input, mergeOptions(base, own));
  } catch (error) {
    return Promise.reject(notStarted(id, error));
  }
}

/**
 * Merges the options of a client with those of one call: either signal aborts, the earlier deadline applies, and the timeout
 * of the client applies to calls without a limit.
 */
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
    timeout: own.timeout ?? (own.deadline === undefined ? base.timeout : undefined),
  };
}

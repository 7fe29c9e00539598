import { withoutUndefined } from "../internal/objects.ts";
import {
  type CallOptions,
  type ClientAny,
  hasCode,
  type OperationEnv,
  type ResponseEnvelope,
  type SubscribeOptions,
  toDataIterator,
} from "../operation/inside.ts";
import { Call, earlier } from "./call.ts";
import type { RegistryCore } from "./core.ts";
import { createEnv, createNamedCalls } from "./env.ts";
import { dataOf } from "./failures.ts";
import { Subscription } from "./subscription.ts";

type AnyOperation = ClientAny<unknown, unknown>;

/** The options of a call, merged with those of its client or env. */
export interface MergedOptions extends SubscribeOptions {
  /** The signal of the client or env, if the call has one of its own. Either one ends the call. */
  readonly baseSignal?: AbortSignal | undefined;
}

/** Creates the client of a registry, whose options apply to every call. An unknown name resolves to a function whose call fails and suggests the nearest name. */
export function createClient(core: RegistryCore, options: CallOptions): Record<string, Record<string, AnyOperation>> {
  return createNamedCalls(core, "client", (id) => createOperation(core, id, options));
}

function createOperation(core: RegistryCore, id: string, base: CallOptions): AnyOperation {
  const isSubscription = () => core.operations.get(id)?.isSubscription === true;
  const run = (input: unknown, options?: CallOptions) => Call.execute(core, id, input, mergeOptions(base, options));
  const iterate = (input: unknown, options?: SubscribeOptions) =>
    new Subscription(core, id, input, mergeOptions({ ...base, timeout: undefined }, options)).values;

  const call = (input?: unknown, options?: SubscribeOptions) =>
    isSubscription()
      ? toDataIterator(iterate(input, options))
      : run(input, options).then((envelope) => dataOf(id, envelope));
  const envelope = (input?: unknown, options?: SubscribeOptions) =>
    isSubscription() ? iterate(input, options) : run(input, options);
  async function* pages(input?: unknown, options?: CallOptions): AsyncGenerator<ResponseEnvelope> {
    for (let page: unknown = input, last = false; !last; ) {
      const answer = await run(page, options);
      page = core.operations.get(id)?.nextPage?.(page, answer);
      last = page === undefined;
      yield answer;
    }
  }
  return Object.assign(call, { envelope, pages, isError: hasCode }) as unknown as AnyOperation;
}

/** Creates an env for code outside a handler. Every call is checked against the given identity. */
export function createCheckedEnv(core: RegistryCore, base: CallOptions, allowed?: readonly string[]): OperationEnv {
  return createEnv(core, allowed, (id, input, options) => {
    const { identity: _, ...own } = options ?? {};
    return Call.execute(core, id, input, mergeOptions(base, own));
  });
}

/**
 * Merges the options of a client with those of one call: either signal aborts, the earlier deadline applies, and the timeout
 * of the client applies to calls without a limit.
 */
function mergeOptions(base: CallOptions, own: SubscribeOptions | undefined): MergedOptions {
  if (own === undefined || own === null) return base;
  return {
    ...base,
    ...withoutUndefined(own),
    baseSignal: own.signal === undefined ? undefined : base.signal,
    deadline: earlier(base.deadline, own.deadline),
    timeout: own.timeout ?? (own.deadline === undefined ? base.timeout : undefined),
  };
}

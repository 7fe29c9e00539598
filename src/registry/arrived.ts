import type {
  KnownOperations,
  OperationContext,
  OperationSpec,
  ResponseEnvelope,
  SubscribeOptions,
} from "../operation/index.ts";
import { type Arrival, CallContext, type PassedOnCall } from "./call-context.ts";
import { executeOwned, type OwnedCall } from "./execute.ts";
import { Registry } from "./registry.ts";
import { Subscription } from "./subscription.ts";
import type { OperationRegistry } from "./types.ts";

/**
 * Runs a query or mutation that came from outside. Its handler's signal and the calls inside listen to the guard
 * that `call.watch()` gives; racing the answer against the end is left to the call. Never throws.
 */
export function executeArrived<Known extends KnownOperations>(
  registry: OperationRegistry<Known>,
  id: string,
  input: unknown,
  call: OwnedCall,
): void {
  executeOwned(Registry.coreOf(registry), id, input, call);
}

/** Subscribes to an operation for somebody outside. */
export function subscribeArrived<Known extends KnownOperations>(
  registry: OperationRegistry<Known>,
  id: string,
  input: unknown,
  options: SubscribeOptions,
  arrival: Arrival,
): AsyncIterableIterator<ResponseEnvelope, undefined> {
  return new Subscription(Registry.coreOf(registry), id, input, options, arrival);
}

/** The specs of a registry as peers see them, with the caller's view of their inputs and without `_meta`. */
export function publishedSpecs<Known extends KnownOperations>(registry: OperationRegistry<Known>): OperationSpec[] {
  return Array.from(Registry.coreOf(registry).entries(), (entry) => entry.published);
}

/** What a call that leaves for a peer says of the one whose handler got `context`, and of those above it. */
export function describePassedOn(context: OperationContext): PassedOnCall {
  if (CallContext.is(context)) return CallContext.describe(context);
  const { parentRequestId, deadline, identity, metadata, remote: isRemote = false, progress } = context;
  const signal = context.abortable === false ? undefined : context.signal;
  const own = { deadline, identity, metadata, signal, isRemote, onProgress: progress, parentRequestId };
  return {
    ...own,
    rootRequestId: undefined,
    depth: undefined,
    credit: undefined,
    creditBytes: undefined,
    token: undefined,
  };
}

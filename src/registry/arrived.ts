import type { CallOptions, KnownOperations, ResponseEnvelope } from "../operation/index.ts";
import type { Arrival } from "./call-context.ts";
import { executeOwned } from "./execute.ts";
import type { Guard } from "./guard.ts";
import { Registry } from "./registry.ts";
import { Subscription } from "./subscription.ts";
import type { OperationRegistry } from "./types.ts";

/**
 * Runs a query or mutation that came from outside. Its guard belongs to the one who asks: it is what the handler's
 * signal and the calls inside listen to, but the promise goes on when it ends.
 */
export function executeArrived<Known extends KnownOperations>(
  registry: OperationRegistry<Known>,
  id: string,
  input: unknown,
  options: CallOptions,
  call: Guard & Arrival,
): Promise<ResponseEnvelope> {
  return executeOwned(Registry.coreOf(registry), id, input, options, call);
}

/** Subscribes to an operation for somebody outside. */
export function subscribeArrived<Known extends KnownOperations>(
  registry: OperationRegistry<Known>,
  id: string,
  input: unknown,
  options: CallOptions,
  arrival: Arrival,
): AsyncIterableIterator<ResponseEnvelope, undefined> {
  return new Subscription(Registry.coreOf(registry), id, input, options, arrival);
}

import type {
  DataOf,
  KnownOperations,
  ResponseEnvelope,
  SubscribeOptions,
  SubscriptionsOf,
} from "../operation/index.ts";
import { Registry } from "./registry.ts";
import { Subscription } from "./subscription.ts";
import type { OperationRegistry } from "./types.ts";

/**
 * Subscribes to an operation and gives an envelope for each of its values. The handler starts with the first
 * `next()`; leaving the loop ends it. An abort or a deadline throws.
 */
export function subscribe<
  T = never,
  Known extends KnownOperations = KnownOperations,
  Id extends keyof SubscriptionsOf<Known> & string = keyof SubscriptionsOf<Known> & string,
>(
  registry: OperationRegistry<Known>,
  id: Id,
  input: Known[Id]["input"],
  options?: SubscribeOptions,
): AsyncIterableIterator<ResponseEnvelope<DataOf<T, Known[Id]>>> & AsyncDisposable {
  return new Subscription(Registry.coreOf(registry), id, input, options) as never;
}

import type { KnownOperations } from "../operation/index.ts";
import { Registry } from "./registry.ts";
import type { OperationRegistry as RegistryInterface, RegistryOptions } from "./types.ts";

/**
 * Holds operations and runs them. One made by `createRegistry` knows their ids, inputs and outputs; it can be passed
 * wherever one that knows nothing is accepted.
 */
export type OperationRegistry<Known extends KnownOperations = KnownOperations> = RegistryInterface<Known>;

/** Makes a registry that knows nothing of its operations' types; `createRegistry` makes one that does. */
export const OperationRegistry: new (options?: RegistryOptions) => OperationRegistry = Registry as never;

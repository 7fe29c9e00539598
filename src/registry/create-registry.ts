import type { IOperationDefinition, KnownFrom } from "../operation/index.ts";
import { OperationRegistry } from "./operation-registry.ts";
import type { RegistryOptions } from "./types.ts";

/** Options of a registry together with the operations that it starts with. */
export interface CreateRegistryOptions<Operations extends readonly IOperationDefinition[]> extends RegistryOptions {
  /** Registered at once; more can follow later. Throws when two have the same id. */
  operations: Operations;
}

/**
 * Makes a registry that knows its operations: `execute`, `subscribe`, `buildEnv` and `client` check ids, inputs and
 * outputs at compile time. Operations whose names are plain strings, such as imported ones, stay callable unchecked.
 */
export function createRegistry<const Operations extends readonly IOperationDefinition[]>(
  options: CreateRegistryOptions<Operations>,
): OperationRegistry<KnownFrom<Operations>> {
  const { operations, ...registryOptions } = options;
  const registry = new OperationRegistry(registryOptions);
  registry.registerAll(operations);
  return registry as OperationRegistry<KnownFrom<Operations>>;
}

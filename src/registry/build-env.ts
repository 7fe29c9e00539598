import type { CallOptions, KnownEnv, KnownOperations, OperationContext } from "../operation/index.ts";
import { CallContext } from "./call-context.ts";
import { createCheckedEnv, createTrustedEnv, type NestedMode } from "./env.ts";
import { Registry } from "./registry.ts";
import type { OperationRegistry } from "./types.ts";

/** How an env is made. */
export interface BuildEnvOptions<Known extends KnownOperations> {
  registry: OperationRegistry<Known>;
  /**
   * The context of a running handler, or what the calls of application code shall carry. Only the first is trusted,
   * and only while its handler runs; everything else is checked against `context.identity`.
   */
  context: OperationContext | CallOptions;
  /** Leaves out all other namespaces. @default all */
  allowedNamespaces?: readonly string[];
  /** `attenuate` checks nested calls against the caller's own scopes. @default "trust" */
  nested?: NestedMode;
}

/** Makes functions for all queries and mutations: `env.task.create(input)` gives an envelope. No subscriptions. */
export function buildEnv<Known extends KnownOperations>(options: BuildEnvOptions<Known>): KnownEnv<Known> {
  const { registry, context, allowedNamespaces, nested = "trust" } = options;
  const core = Registry.coreOf(registry);
  const env = CallContext.isOf(core, context)
    ? createTrustedEnv(core, context, nested, allowedNamespaces)
    : createCheckedEnv(core, context, allowedNamespaces);
  return env as KnownEnv<Known>;
}

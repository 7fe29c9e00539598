import { nearest } from "../internal/nearest.ts";
import { checkScopes } from "./check-access.ts";
import { type Identity, toIdentity } from "./identity.ts";
import type { OperationSpec } from "./spec.ts";

/**
 * Returns the id that was probably meant, among the operations that the identity has the scopes for: a hint must not reveal
 * an operation that the reader may not call. With `"all"` the reader may see every one of `specs`.
 */
export function nearestOperation(
  id: string,
  specs: Iterable<OperationSpec>,
  reader: Identity | undefined | "all",
): string | undefined {
  const identity = reader === "all" ? undefined : toIdentity(reader);
  const ids: string[] = [];
  // Specs of peers may be malformed.
  for (const spec of specs as Iterable<Partial<OperationSpec> | null>) {
    const { namespace, name, accessControl } = spec ?? {};
    if (typeof namespace !== "string" || typeof name !== "string") continue;
    const isVisible = reader === "all" || (accessControl && checkScopes(accessControl, identity) === true);
    if (isVisible) ids.push(`${namespace}.${name}`);
  }
  return nearest(id, ids);
}

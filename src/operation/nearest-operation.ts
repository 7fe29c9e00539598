import { nearest } from "../internal/nearest.ts";
import { checkScopes } from "./check-access.ts";
import type { Identity } from "./identity.ts";
import { toIdentity } from "./identity.ts";
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
  return nearest(id, visibleIds(specs, reader === "all" ? reader : toIdentity(reader)));
}

function* visibleIds(specs: Iterable<Partial<OperationSpec> | null>, reader: Identity | undefined | "all") {
  for (const spec of specs) {
    const { namespace, name, accessControl } = spec ?? {};
    if (typeof namespace !== "string" || typeof name !== "string") continue;
    const isVisible = reader === "all" || (accessControl !== undefined && checkScopes(accessControl, reader) === true);
    if (isVisible) yield `${namespace}.${name}`;
  }
}

import { createGlobs } from "../internal/globs.ts";
import type { FollowHooks } from "../registry/inside.ts";
import type { HubRule } from "./config.ts";
import type { SourcePlan } from "./hub-source.ts";

/** Scopes of the hub's own operations. */
export const hubScopes = {
  /** Reads the states of sources, and the history of the caller's own calls. */
  read: "hub:read",
  /** Also reads the calls of all callers, and reloads the configuration. */
  admin: "hub:admin",
} as const;

/** The operations that manage the hub are for people and programs: they are not tools, and peers cannot call them. */
export const ownOperations = ["hub.*"];

/** Decides which scopes the rules of the hub add to an operation, and whether they deny it. */
export type Restrict = NonNullable<FollowHooks["restrict"]>;

/**
 * Compiles rules. All matching rules apply: they add scopes or remove the operation, and never allow more. A rule matches
 * the ids before and after `rename` and `namespace`, so that a new name does not escape it.
 */
export function compileRules(rules: readonly HubRule[] = []): Restrict {
  const compiled = rules.map((rule) => ({ ...rule, matches: createGlobs([rule.match]) }));
  return (spec, ids) => {
    const matching = compiled.filter(({ type = spec.type, matches }) => type === spec.type && ids.some(matches));
    if (matching.some(({ deny }) => deny === true)) return undefined;
    return matching.flatMap(({ requiredScopes }) => requiredScopes ?? []);
  };
}

/** Returns the rules for the operations of each source. They also match ids with the alias of the source. */
export function compileSourceRules(rules: readonly HubRule[] = []): (plan: SourcePlan) => Restrict {
  const restrict = compileRules(rules);
  return ({ alias }) => {
    if (alias === undefined) return restrict;
    return (spec, ids) => restrict(spec, [...ids, ...ids.map((id) => alias + id.slice(id.indexOf(".")))]);
  };
}

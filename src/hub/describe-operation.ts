import { createGlobs } from "../internal/globs.ts";
import { getOwn, isObject } from "../internal/objects.ts";
import { coreOf, type OperationRegistry } from "../registry/inside.ts";
import { describeTool } from "../serve/mcp/inside.ts";
import { toToolName } from "../serve/tool-name.ts";
import type { ResolvedConfig } from "./config.ts";
import type { HubSource } from "./hub-source.ts";

/** What the parts of a hub know about an operation. */
interface Known {
  readonly registry: OperationRegistry;
  readonly config: ResolvedConfig;
  /** Absent for an operation of the hub itself. */
  readonly source: HubSource | undefined;
}

/** Describes where an operation is from, why it requires its scopes, and what models see of it. */
export function describeOperation(id: string, { registry, config, source }: Known) {
  const entry = coreOf(registry).operations.get(id);
  if (entry === undefined) return { tool: undefined };
  const rules = (config.rules ?? []).filter(
    ({ match, type }) => createGlobs([match])(id) && (type ?? entry.spec.type) === entry.spec.type,
  );
  const fromRules = rules.flatMap(({ match, requiredScopes = [] }) =>
    requiredScopes.length === 0 ? [] : [{ from: "rule" as const, match, scopes: [...requiredScopes] }],
  );
  const ruled = new Set(fromRules.flatMap(({ scopes }) => scopes));
  const others = entry.access.requiredScopes.filter((scope) => !ruled.has(scope));
  const ofSource = new Set(source?.plan.options.accessControl?.requiredScopes);
  const own = [
    { from: "operation" as const, scopes: others.filter((scope) => !ofSource.has(scope)) },
    { from: "source" as const, scopes: others.filter((scope) => ofSource.has(scope)) },
  ].filter(({ scopes }) => scopes.length > 0);
  const tool = describeTool(entry, "modern");
  return {
    ...(source !== undefined && { provenance: toProvenance(entry.spec._meta, source) }),
    access: [...own, ...fromRules],
    tool: entry.spec.namespace === "hub" ? undefined : { name: toToolName(id), bytes: JSON.stringify(tool).length },
    recordsPayload: createGlobs(config.history?.payloads ?? [])(id),
  };
}

function toProvenance(meta: unknown, { plan }: HubSource) {
  const http = getOwn(meta, "openapi");
  const mcp = getOwn(meta, "mcp");
  const text = (value: unknown, name: string) => {
    const member = isObject(value) ? getOwn(value, name) : undefined;
    return typeof member === "string" ? member : "";
  };
  return {
    source: plan.name,
    kind: plan.kind,
    ...(plan.address !== undefined && { address: plan.address }),
    ...(isObject(http) && { http: { method: text(http, "method"), path: text(http, "path") } }),
    ...(isObject(mcp) && { mcp: { tool: text(mcp, "tool") } }),
  };
}

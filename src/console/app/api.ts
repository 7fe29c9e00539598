/** What the operations of a hub take and return, as far as the page uses it. */

import type { CallRecord, Facets, SourceState } from "../../hub/inside.ts";
import type { OperationSpec, OperationType } from "../../operation/index.ts";

export type {
  AccessReport,
  Activity,
  CallRecord,
  CallTree,
  CheckResult,
  Facets,
  HistoryPage,
  HubStats,
  HubStatus,
  SourceState,
} from "../../hub/inside.ts";
export type { OperationType };

/** The kinds of sources. */
export type SourceKind = SourceState["kind"];

/** A brief spec in a list of operations. */
export interface BriefOperation
  extends Pick<OperationSpec, "namespace" | "name" | "version" | "type" | "title" | "description" | "tags"> {
  source?: string;
  kind?: SourceKind;
}

/** `hub.operations`. */
export interface OperationList<T = BriefOperation> {
  operations: T[];
  total: number;
  facets?: Facets;
}

/** What models get of an operation. */
export interface ToolSummary {
  name: string;
  bytes: number;
}

/** `hub.operations` with an id: the whole spec, and what the hub knows about the operation. */
export interface OperationDetails extends OperationSpec {
  kind?: SourceKind;
  /** Where it comes from. */
  provenance?: {
    source: string;
    kind: SourceKind;
    address?: string;
    http?: { method: string; path: string };
    mcp?: { tool: string };
  };
  /** Why it requires its scopes. */
  access?: { from: "operation" | "source" | "rule"; match?: string; scopes: string[] }[];
  tool?: ToolSummary;
  destructive?: boolean;
}

/** The id of an operation. */
export function idOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}.${name}`;
}

/** The key of a call: its record, or its request while it runs. Callers choose request ids, so they may repeat. */
export function keyOf(call: CallRecord): string {
  return call.id === undefined ? runningKeyOf(call) : String(call.id);
}

/** The key that a call had while it ran. */
export function runningKeyOf({ requestId, identity = "" }: CallRecord): string {
  return `${requestId} ${identity}`;
}

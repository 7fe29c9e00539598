/** What the operations of a hub take and return, as far as the page uses it. */

/** The kinds of sources. */
export type SourceKind = "modules" | "openapi" | "mcp" | "nats" | "redis" | "websocket";

/** The types of operations. */
export type OperationType = "query" | "mutation" | "subscription";

/** A JSON Schema, as published by the hub. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

/** `hub.status`: who the caller is, and which hub this is. */
export interface HubStatus {
  identity: { id: string; scopes: string[]; isOperator?: boolean; expiresAt?: number };
  hub: {
    version: string;
    startedAt: number;
    dev: boolean;
    doors: string[];
    url?: string;
    history: { file?: string; keep?: string; payloads: string[] };
  };
  /** The clock of the hub, in milliseconds since the epoch. */
  now: number;
}

/** A brief spec in a list of operations. */
export interface BriefOperation {
  namespace: string;
  name: string;
  version: string;
  type: OperationType;
  title?: string;
  description: string;
  tags?: string[];
  source?: string;
  kind?: SourceKind;
}

/** The number of operations by the values of each filter. */
export interface Facets {
  source: Record<string, number>;
  namespace: Record<string, number>;
  tag: Record<string, number>;
  type: Record<string, number>;
}

/** `hub.operations`. */
export interface OperationList {
  operations: BriefOperation[];
  total: number;
  facets?: Facets;
}

/** Where an operation comes from. */
export interface Provenance {
  source: string;
  kind: SourceKind;
  address?: string;
  http?: { method: string; path: string; server?: string };
  mcp?: { server?: string; tool: string };
  importedAs?: string;
}

/** One reason for scopes that an operation requires. */
export interface AccessReason {
  from: "operation" | "source" | "rule";
  match?: string;
  scopes: string[];
}

/** `hub.operations` with an id: the whole spec, and what the hub knows about the operation. */
export interface OperationDetails extends BriefOperation {
  inputSchema: Schema;
  outputSchema: Schema;
  errorSchemas?: { code: string; description?: string; schema: Schema; httpStatus?: number }[];
  accessControl: {
    requiredScopes: string[];
    requiredScopesAny?: string[];
    resourceType?: string;
    resourceAction?: string;
    resourceId?: string;
    customAuth?: string;
  };
  idempotent?: boolean;
  destructive?: boolean;
  provenance?: Provenance;
  access?: AccessReason[];
  tool?: { name: string; bytes: number };
  recordsPayload?: boolean;
}

/** The steps of a call that come before its handler. */
export type StepName = "find" | "scopes" | "validate" | "resource";

/** `hub.check`: what would become of a call. */
export interface CheckResult {
  steps: { step: StepName; outcome: "ok" | "failed" | "unknown" | "skipped"; reason?: string }[];
  errors: { path: string; message: string }[];
}

/** The servers of a hub, and calls of its own program. */
export type Via = "http" | "mcp" | "websocket" | "bus" | "code" | "command";

/** A repair of the data of a result. */
export interface Drift {
  path: string;
  kind: "stripped" | "filled" | "converted" | "invented" | "mismatch";
  message?: string;
}

/** A call: recorded, or still running. */
export interface CallRecord {
  /** Missing while the call runs. */
  id?: number;
  requestId: string;
  parentRequestId?: string;
  operationId: string;
  source?: string;
  identity?: string;
  via?: Via;
  /** What the wire of the source said: `local`, `mcp`, or `http` and the status. */
  from?: string;
  startedAt: number;
  duration?: number;
  status: "succeeded" | "failed" | "running";
  code?: string;
  drift?: number;
  nested?: number;
  values?: number;
  input?: unknown;
  output?: unknown;
  error?: { message: string; details?: unknown };
}

/** `hub.history`. */
export interface HistoryPage {
  calls: CallRecord[];
  /** For the next page. */
  next?: number;
}

/** One report of `hub.activity`: what happened since the report before. */
export interface Activity {
  started: number;
  succeeded: number;
  failed: number;
  /** Calls that are running now. */
  running: number;
  /** Calls of this report that `calls` leaves out. */
  skipped: number;
  calls: CallRecord[];
}

/** A point of a series of `hub.stats`. */
export interface StatsPoint {
  at: number;
  calls: number;
  failed: number;
  p50?: number;
  p95?: number;
}

/** `hub.stats`. */
export interface HubStats {
  since: number;
  calls: number;
  failed: number;
  until: number;
  groups: { key: string; calls: number; failed: number; p50?: number; p95?: number }[];
  series?: StatsPoint[];
  isComplete?: boolean;
  history: { lost: number; problem?: string };
}

/** `hub.sources`. */
export interface SourceState {
  name: string;
  kind: SourceKind;
  status: "connecting" | "ready" | "retrying" | "failed" | "closed";
  since: number;
  reason?: string;
  nextAttempt?: number;
  operations: number;
  address?: string;
  report?: { imported: number; skipped: string[]; warnings: string[] };
}

/** `hub.access`: who may call an operation, or what an identity may call. */
export interface AccessReport {
  identities: { id: string; scopes: string[]; operations: number; mayCall?: boolean; missing?: string[] }[];
  rules: { match: string; deny?: boolean; type?: OperationType; requiredScopes?: string[] }[];
}

/** The id of an operation. */
export function idOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}.${name}`;
}

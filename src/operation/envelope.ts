import { isObject } from "../internal/objects.ts";
import type { MCPContentBlock } from "./mcp-content.ts";

/** Where the answer to a call came from. */
export type ResponseSource = "local" | "http" | "mcp";

/** Every known {@link ResponseSource}; a new source is added here and to {@link ResponseMeta}. */
export const RESPONSE_SOURCES = ["local", "http", "mcp"] as const satisfies readonly ResponseSource[];

/** What normalising did to the data. `mismatch` means: left as it came, and it does not fit the schema. */
export type DriftKind = "stripped" | "filled" | "converted" | "invented" | "mismatch";

/** One difference between the data that came and the operation's `outputSchema`. Never holds values. */
export interface Drift {
  /** JSON pointer into the data; `""` is the data itself. */
  path: string;
  kind: DriftKind;
  message?: string;
}

/** What every meta may carry besides the facts of its own wire. */
export interface DriftReport {
  /** How the data differed from the schema; absent when it did not. At most 20 entries. */
  drift?: Drift[];
  /** How many differences there were in all; present when `drift` was cut. */
  driftTotal?: number;
}

/** Meta of an operation that ran in this process. */
export interface LocalResponseMeta extends DriftReport {
  source: "local";
  /** The full id, `namespace.name`. */
  operationId: string;
  /** When the result was wrapped, in milliseconds since the epoch. */
  timestamp: number;
}

/** Meta of an HTTP answer, or of one event of an HTTP stream. */
export interface HTTPResponseMeta extends DriftReport {
  source: "http";
  statusCode: number;
  /** Lower-case names; several values of one header are joined with `, `. */
  headers: Record<string, string>;
  contentType: string;
  /** Every `set-cookie` header as it came, because joining would merge them. */
  setCookie?: string[];
  /** For streams: the event's own fields. */
  event?: { type?: string; id?: string; retry?: number };
}

/** Meta of an MCP tool result. */
export interface MCPResponseMeta extends DriftReport {
  source: "mcp";
  /** The tool ran and reports an error as its result. This is not a thrown error. */
  isError: boolean;
  content: MCPContentBlock[];
  /** Raw structured output; any JSON value. */
  structuredContent?: unknown;
  _meta?: Record<string, unknown>;
}

/** Facts of the wire, told apart by `source`. */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

/** The one shape that every call answers with. */
export interface ResponseEnvelope<T = unknown> {
  /** The output, shaped by the operation's `outputSchema`, whatever the source. */
  data: T;
  meta: ResponseMeta;
}

/** Wraps the result of a function in this process. The time is taken now. */
export function localEnvelope<T>(data: T, operationId: string): ResponseEnvelope<T> {
  return { data, meta: { source: "local", operationId, timestamp: Date.now() } };
}

/** Wraps an HTTP answer. */
export function httpEnvelope<T>(data: T, meta: Omit<HTTPResponseMeta, "source">): ResponseEnvelope<T> {
  return { data, meta: { source: "http", ...meta } };
}

/** Wraps an MCP tool result. */
export function mcpEnvelope<T>(data: T, meta: Omit<MCPResponseMeta, "source">): ResponseEnvelope<T> {
  return { data, meta: { source: "mcp", ...meta } };
}

/** Gives the data and drops the meta. */
export function unwrap<T>(envelope: ResponseEnvelope<T>): T {
  return envelope.data;
}

/**
 * Tells whether a value is an envelope: an own `meta` with a known source and that source's required fields, and `data`
 * that is its own or missing, because JSON drops `data: undefined`. Structural, so that it holds after JSON and across
 * copies of this package. Never throws.
 */
export function isResponseEnvelope(value: unknown): value is ResponseEnvelope {
  if (typeof value !== "object" || value === null) return false;
  try {
    // Read before asking who owns it: nearly every result has no `meta`, and a failed read is the cheapest answer.
    const meta = (value as { meta?: unknown }).meta;
    if (typeof meta !== "object" || meta === null) return false;
    return (
      Object.hasOwn(value, "meta") &&
      (Object.hasOwn(value, "data") || !("data" in value)) &&
      hasRequiredFields(meta as Record<string, unknown>)
    );
  } catch {
    return false; // a getter or a proxy trap that throws belongs to something else
  }
}

/** The envelope with an own `data`, which JSON drops when it is `undefined`: remote callers get what local ones get. */
export function restoreData<T>(envelope: ResponseEnvelope<T>): ResponseEnvelope<T> {
  return Object.hasOwn(envelope, "data") ? envelope : { ...envelope, data: undefined as T };
}

function hasRequiredFields(meta: Readonly<Record<string, unknown>>): boolean {
  switch (meta["source"]) {
    case "local":
      return (
        typeof meta["operationId"] === "string" &&
        Number.isFinite(meta["timestamp"]) &&
        owns(meta, "operationId", "timestamp")
      );
    case "http":
      return (
        Number.isFinite(meta["statusCode"]) &&
        typeof meta["contentType"] === "string" &&
        isObject(meta["headers"]) &&
        owns(meta, "statusCode", "contentType", "headers")
      );
    case "mcp":
      return typeof meta["isError"] === "boolean" && Array.isArray(meta["content"]) && owns(meta, "isError", "content");
    default:
      return false;
  }
}

const isOwn = Object.prototype.hasOwnProperty;

/** Whether `source` and the named fields are the object's own. */
function owns(meta: object, first: string, second: string, third?: string): boolean {
  let found = 0;
  // In a loop over the names the engine knows which are own; asking for each by itself took four times as long.
  for (const key in meta) {
    if (!isOwn.call(meta, key)) continue;
    if (key === "source" || key === first || key === second || key === third) found++;
  }
  return found === (third === undefined ? 3 : 4);
}

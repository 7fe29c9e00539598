import { getOwn, isObject } from "../internal/objects.ts";
import { CallError } from "./error.ts";
import type { HTTPResponseMeta, MCPResponseMeta, ResponseMeta } from "./response-meta.ts";

/** Every known {@link ResponseSource}. */
export const RESPONSE_SOURCES = ["local", "http", "mcp"] as const;

/** The source of a result. */
export type ResponseSource = (typeof RESPONSE_SOURCES)[number];

/** The result of every call. */
export interface ResponseEnvelope<T = unknown> {
  /** The output, in the shape of the operation's `outputSchema`. */
  data: T;
  /** The source of the result, and details of the response. */
  meta: ResponseMeta;
}

/** Wraps the result of a function in this process. The timestamp is the current time. */
export function localEnvelope<T>(data: T, operationId: string): ResponseEnvelope<T> {
  return { data, meta: { source: "local", operationId, timestamp: Date.now() } };
}

/** Wraps an HTTP response. */
export function httpEnvelope<T>(data: T, meta: Omit<HTTPResponseMeta, "source">): ResponseEnvelope<T> {
  return { data, meta: { source: "http", ...meta } };
}

/** Wraps an MCP tool result. */
export function mcpEnvelope<T>(data: T, meta: Omit<MCPResponseMeta, "source">): ResponseEnvelope<T> {
  return { data, meta: { source: "mcp", ...meta } };
}

/**
 * Returns whether a value is an envelope: an own `meta` with a known source and the required fields of that source, and
 * an own or missing `data`, because JSON drops `data: undefined`. The test is structural, so that it works after JSON and
 * across copies of this package.
 */
export function isResponseEnvelope(value: unknown): value is ResponseEnvelope {
  if (typeof value !== "object" || value === null) return false;
  // Read before checking ownership: nearly every result has no `meta`, and a failed read is the cheapest test.
  const { meta } = value as { meta?: unknown };
  if (meta === undefined) return false;
  return (
    isObject(meta) &&
    Object.hasOwn(value, "meta") &&
    (Object.hasOwn(value, "data") || !("data" in value)) &&
    hasRequiredFields(meta)
  );
}

/** Returns the data of an envelope. Throws `EXECUTION_ERROR` for an MCP result with `isError`. */
export function toData({ data, meta }: ResponseEnvelope): unknown {
  if (meta.source !== "mcp" || !meta.isError) return data;
  throw new CallError("EXECUTION_ERROR", firstText(meta.content) ?? "The tool reported an error.", {
    content: meta.content,
    data,
  });
}

/** The blocks may come from a peer, which can send anything in their place. */
function firstText(content: readonly unknown[]): string | undefined {
  const texts = content.map((block) => (getOwn(block, "type") === "text" ? getOwn(block, "text") : undefined));
  return texts.find((text): text is string => typeof text === "string" && text !== "")?.slice(0, 1_000);
}

/** Adds an own `data: undefined`, which JSON drops: remote callers receive the same envelope as local ones. */
export function restoreData<T>(envelope: ResponseEnvelope<T>): ResponseEnvelope<T> {
  return Object.hasOwn(envelope, "data") ? envelope : { ...envelope, data: undefined as T };
}

/** Returns whether the required fields of the meta's source are own properties of the expected type. */
function hasRequiredFields(meta: object): boolean {
  const isString = (name: string) => typeof getOwn(meta, name) === "string";
  switch (getOwn(meta, "source")) {
    case "local":
      return isString("operationId") && Number.isFinite(getOwn(meta, "timestamp"));
    case "http":
      return (
        Number.isFinite(getOwn(meta, "statusCode")) && isObject(getOwn(meta, "headers")) && isString("contentType")
      );
    case "mcp":
      return typeof getOwn(meta, "isError") === "boolean" && Array.isArray(getOwn(meta, "content"));
    default:
      return false;
  }
}

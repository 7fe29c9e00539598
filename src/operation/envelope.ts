import { isObject } from "../internal/objects.ts";
import { array, boolean, number, oneOf, record, type Shape, string, unknown } from "../internal/shape.ts";
import type { HTTPResponseMeta, MCPResponseMeta, ResponseMeta } from "./envelope-fields.ts";

/**
 * The required fields of the meta of each source, which {@link isResponseEnvelope} checks. The others are in a separate
 * module, which clients do not load.
 */
export const requiredMetaFields = {
  local: {
    source: oneOf(["local"]),
    /** The full id, `namespace.name`. */
    operationId: string(),
    /** When the result was wrapped, in milliseconds since the epoch. */
    timestamp: number({ description: "Milliseconds since the epoch" }),
  },
  http: {
    source: oneOf(["http"]),
    /** Status of the response. */
    statusCode: number(),
    /** Lower-case names; several values of one header are joined with `, `. */
    headers: record(string()),
    /** The `content-type` header, unchanged; `""` when it was missing. */
    contentType: string(),
  },
  mcp: {
    source: oneOf(["mcp"]),
    /** The tool ran and reports an error as its result. This is not a thrown error. */
    isError: boolean(),
    /** The blocks of the result. */
    content: array(unknown()),
  },
};

/** The source of a result. */
export type ResponseSource = keyof typeof requiredMetaFields;

/** Every known {@link ResponseSource}. */
export const RESPONSE_SOURCES = ["local", "http", "mcp"] as const satisfies readonly ResponseSource[];

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
 * across copies of this package. Never throws.
 */
export function isResponseEnvelope(value: unknown): value is ResponseEnvelope {
  if (typeof value !== "object" || value === null) return false;
  try {
    // Read before checking ownership: nearly every result has no `meta`, and a failed read is the cheapest test.
    const meta = (value as { meta?: unknown }).meta;
    if (typeof meta !== "object" || meta === null) return false;
    return (
      Object.hasOwn(value, "meta") &&
      (Object.hasOwn(value, "data") || !("data" in value)) &&
      hasRequiredFields(meta as Record<string, unknown>)
    );
  } catch {
    return false; // A getter or a proxy trap threw: the value is not an envelope.
  }
}

/** Adds an own `data: undefined`, which JSON drops: remote callers receive the same envelope as local ones. */
export function restoreData<T>(envelope: ResponseEnvelope<T>): ResponseEnvelope<T> {
  return Object.hasOwn(envelope, "data") ? envelope : { ...envelope, data: undefined as T };
}

/** Checks the type of a required field. The contents of lists and objects are not checked. */
const kindChecks = {
  string: (value: unknown) => typeof value === "string",
  boolean: (value: unknown) => typeof value === "boolean",
  number: Number.isFinite,
  array: Array.isArray,
};

/** The required fields of each source except `source`. Objects of one shape, because every remote result is checked here. */
const requiredFields = new Map<unknown, ReadonlyArray<{ name: string; isOfKind: (value: unknown) => boolean }>>(
  Object.entries(requiredMetaFields).map(([source, shape]: [string, Shape]) => [
    source,
    Object.entries(shape)
      .filter(([name]) => name !== "source")
      .map(([name, { kind }]) => ({ name, isOfKind: kindChecks[kind as keyof typeof kindChecks] ?? isObject })),
  ]),
);

const isOwnProperty = Object.prototype.hasOwnProperty;

/** Returns whether the required fields of the meta's source are own properties of the expected type. */
function hasRequiredFields(meta: Readonly<Record<string, unknown>>): boolean {
  const required = requiredFields.get(meta["source"]);
  if (required === undefined) return false;
  let missing = required.length + 1;
  // In a `for...in` loop the engine knows the own names; one check for each required field took four times as long.
  for (const name in meta) {
    if (!isOwnProperty.call(meta, name)) continue;
    if (name === "source") missing--;
    else {
      for (let index = 0; index < required.length; index++) {
        const field = required[index]!;
        if (field.name !== name) continue;
        if (!field.isOfKind(meta[name])) return false;
        missing--;
      }
    }
  }
  return missing === 0;
}

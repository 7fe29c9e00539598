import { isObject } from "../internal/objects.ts";
import {
  array,
  boolean,
  number,
  type ObjectOf,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  string,
  union,
  unknown,
} from "../internal/shape.ts";
import { contentShapes, type MCPContentBlock } from "./mcp-content.ts";

const driftFields = {
  /** JSON pointer into the data; `""` is the data itself. */
  path: string({ description: "JSON pointer into the data" }),
  /** What happened to the value. */
  kind: oneOf(["stripped", "filled", "converted", "invented", "mismatch"]),
  /** What was expected. */
  message: optional(string()),
};

/** One difference between the data that came and the operation's `outputSchema`. Never holds values. */
export interface Drift extends ObjectOf<typeof driftFields> {}

/** What normalising did to the data. `mismatch` means: left as it came, and it does not match the schema. */
export type DriftKind = Drift["kind"];

const reportFields = {
  /** How the data differed from the schema; missing when it did not. At most 20 entries. */
  drift: optional(array(object<Drift>(driftFields))),
  /** How many differences there were in all; present when `drift` was cut. */
  driftTotal: optional(number()),
};

/** What every meta may carry besides the facts of its own wire. */
export interface DriftReport extends ObjectOf<typeof reportFields> {}

const eventFields = { type: optional(string()), id: optional(string()), retry: optional(number()) };

/** Every field of the meta of each source. The types, {@link isResponseEnvelope} and the schemas follow from this table. */
export const metaFields = {
  local: {
    source: oneOf(["local"]),
    /** The full id, `namespace.name`. */
    operationId: string(),
    /** When the result was wrapped, in milliseconds since the epoch. */
    timestamp: number({ description: "Milliseconds since the epoch" }),
    ...reportFields,
  },
  http: {
    source: oneOf(["http"]),
    /** Status of the response. */
    statusCode: number(),
    /** Lower-case names; several values of one header are joined with `, `. */
    headers: record(string()),
    /** The `content-type` header as it came; `""` when it was missing. */
    contentType: string(),
    /** Every `set-cookie` header as it came, because joining would merge them. */
    setCookie: optional(array(string())),
    /** For streams: the event's own fields. */
    event: optional(object<{ type?: string; id?: string; retry?: number }>(eventFields)),
    ...reportFields,
  },
  mcp: {
    source: oneOf(["mcp"]),
    /** The tool ran and reports an error as its result. This is not a thrown error. */
    isError: boolean(),
    /** The blocks of the result. */
    content: array(union<MCPContentBlock>(contentShapes)),
    /** Raw structured output; any JSON value. */
    structuredContent: optional(unknown()),
    /** What the server added about the result. */
    _meta: optional(record(unknown())),
    ...reportFields,
  },
};

/** Where the result of a call came from. */
export type ResponseSource = keyof typeof metaFields;

/** Every known {@link ResponseSource}. */
export const RESPONSE_SOURCES = ["local", "http", "mcp"] as const satisfies readonly ResponseSource[];

/** Meta of an operation that ran in this process. */
export interface LocalResponseMeta extends ObjectOf<typeof metaFields.local> {}

/** Meta of an HTTP response, or of one event of an HTTP stream. */
export interface HTTPResponseMeta extends ObjectOf<typeof metaFields.http> {}

/** Meta of an MCP tool result. */
export interface MCPResponseMeta extends ObjectOf<typeof metaFields.mcp> {}

/** Facts of the wire, distinguished by `source`. */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

/** The one shape that every call returns. */
export interface ResponseEnvelope<T = unknown> {
  /** The output, shaped by the operation's `outputSchema`, whatever the source. */
  data: T;
  /** Where it came from, and what the wire reported. */
  meta: ResponseMeta;
}

/** Every field of an envelope. */
export const envelopeFields = {
  data: unknown({ description: "Operation output" }),
  meta: union<ResponseMeta>(Object.values(metaFields)),
};

/** Wraps the result of a function in this process. The time is taken now. */
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

/** Returns the data and drops the meta. */
export function unwrap<T>(envelope: ResponseEnvelope<T>): T {
  return envelope.data;
}

/**
 * Whether a value is an envelope: an own `meta` with a known source and that source's required fields, and `data`
 * that is its own or missing, because JSON drops `data: undefined`. Structural, so that it holds after JSON and across
 * copies of this package. Never throws.
 */
export function isResponseEnvelope(value: unknown): value is ResponseEnvelope {
  if (typeof value !== "object" || value === null) return false;
  try {
    // Reads before it checks ownership: nearly every result has no `meta`, and a failed read is the cheapest test.
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

/** What a required field must be at least: of its kind. What lists and objects hold is not checked. */
const kindChecks = {
  string: (value: unknown) => typeof value === "string",
  boolean: (value: unknown) => typeof value === "boolean",
  number: Number.isFinite,
  array: Array.isArray,
};

/** The required fields of each source but `source` itself. Objects of one form, because every remote result passes here. */
const requiredFields = new Map<unknown, ReadonlyArray<{ name: string; isOfKind: (value: unknown) => boolean }>>(
  Object.entries(metaFields).map(([source, shape]: [string, Shape]) => [
    source,
    Object.entries(shape)
      .filter(([name, field]) => name !== "source" && !field.isOptional)
      .map(([name, { kind }]) => ({ name, isOfKind: kindChecks[kind as keyof typeof kindChecks] ?? isObject })),
  ]),
);

const isOwn = Object.prototype.hasOwnProperty;

/** Whether the required fields of the meta's source are its own, and of the right kind. */
function hasRequiredFields(meta: Readonly<Record<string, unknown>>): boolean {
  const required = requiredFields.get(meta["source"]);
  if (required === undefined) return false;
  let missing = required.length + 1;
  // In a loop over its names the engine knows which are own; a check for each field took four times as long.
  for (const name in meta) {
    if (!isOwn.call(meta, name)) continue;
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

import {
  array,
  number,
  type ObjectOf,
  object,
  oneOf,
  optional,
  record,
  string,
  union,
  unknown,
} from "../internal/shape.ts";
import { requiredMetaFields } from "./envelope.ts";
import { contentShapes, type MCPContentBlock } from "./mcp-content.ts";

const driftFields = {
  /** JSON pointer into the data; `""` is the data itself. */
  path: string({ description: "JSON pointer into the data" }),
  /** The change that was made to the value. */
  kind: oneOf(["stripped", "filled", "converted", "invented", "mismatch"]),
  /** The expected value, in words. */
  message: optional(string()),
};

/** One difference between the received data and the operation's `outputSchema`. Never contains values. */
export interface Drift extends ObjectOf<typeof driftFields> {}

/** The change that normalising made. `mismatch` means that the data was left unchanged and does not match the schema. */
export type DriftKind = Drift["kind"];

const reportFields = {
  /** Differences between the data and the schema; missing when there are none. At most 20 entries. */
  drift: optional(array(object<Drift>(driftFields))),
  /** Total number of differences; present when `drift` was truncated. */
  driftTotal: optional(number()),
};

/** Fields that the meta of every source can have. */
export interface DriftReport extends ObjectOf<typeof reportFields> {}

const eventFields = { type: optional(string()), id: optional(string()), retry: optional(number()) };

/** Every field of the meta of each source. The types and the schemas follow from this table. */
export const metaFields = {
  local: { ...requiredMetaFields.local, ...reportFields },
  http: {
    ...requiredMetaFields.http,
    /** Every `set-cookie` header, unchanged, because joining would merge them. */
    setCookie: optional(array(string())),
    /** For streams: the fields of the event. */
    event: optional(object<{ type?: string; id?: string; retry?: number }>(eventFields)),
    ...reportFields,
  },
  mcp: {
    ...requiredMetaFields.mcp,
    /** The blocks of the result. */
    content: array(union<MCPContentBlock>(contentShapes)),
    /** Raw structured output; any JSON value. */
    structuredContent: optional(unknown()),
    /** The `_meta` that the server added to the result. */
    _meta: optional(record(unknown())),
    ...reportFields,
  },
};

/** Meta of an operation that ran in this process. */
export interface LocalResponseMeta extends ObjectOf<typeof metaFields.local> {}

/** Meta of an HTTP response, or of one event of an HTTP stream. */
export interface HTTPResponseMeta extends ObjectOf<typeof metaFields.http> {}

/** Meta of an MCP tool result. */
export interface MCPResponseMeta extends ObjectOf<typeof metaFields.mcp> {}

/** Details of the response, distinguished by `source`. */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

/** Every field of an envelope. */
export const envelopeFields = {
  data: unknown({ description: "Operation output" }),
  meta: union<ResponseMeta>(Object.values(metaFields)),
};

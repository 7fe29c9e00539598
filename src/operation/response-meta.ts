import { type Static, type TObject, Type } from "typebox";
import type { ResponseEnvelope } from "./envelope.ts";
import { type MCPContentBlock, MCPContentBlockSchema } from "./mcp-content.ts";
import { optional } from "./optional.ts";

const driftSchema = Type.Object({
  /** JSON pointer into the data; `""` is the data itself. */
  path: Type.String({ description: "JSON pointer into the data" }),
  /** The change that was made to the value. */
  kind: Type.Union([
    Type.Literal("stripped"),
    Type.Literal("filled"),
    Type.Literal("converted"),
    Type.Literal("invented"),
    Type.Literal("mismatch"),
  ]),
  /** The expected value, in words. */
  message: optional(Type.String()),
});

/** One difference between the received data and the operation's `outputSchema`. Never contains values. */
export interface Drift extends Static<typeof driftSchema> {}

/** The change that normalising made. `mismatch` means that the data was left unchanged and does not match the schema. */
export type DriftKind = Drift["kind"];

const driftReport = {
  /** Differences between the data and the schema; missing when there are none. At most 20 entries. */
  drift: optional(Type.Array(Type.Unsafe<Drift>(driftSchema))),
  /** Total number of differences; present when `drift` was truncated. */
  driftTotal: optional(Type.Number()),
};

/** Fields that the meta of every source can have. */
export interface DriftReport extends Static<TObject<typeof driftReport>> {}

/** Schema of {@link LocalResponseMeta}. */
export const LocalResponseMetaSchema = Type.Object({
  source: Type.Literal("local"),
  /** The full id, `namespace.name`. */
  operationId: Type.String(),
  /** When the result was wrapped, in milliseconds since the epoch. */
  timestamp: Type.Number({ description: "Milliseconds since the epoch" }),
  ...driftReport,
});

/** Meta of an operation that ran in this process. */
export interface LocalResponseMeta extends Static<typeof LocalResponseMetaSchema> {}

/** Schema of {@link HTTPResponseMeta}. */
export const HTTPResponseMetaSchema = Type.Object({
  source: Type.Literal("http"),
  /** Status of the response. */
  statusCode: Type.Number(),
  /** Lower-case names; several values of one header are joined with `, `. */
  headers: Type.Record(Type.String(), Type.String()),
  /** The `content-type` header, unchanged; `""` when it was missing. */
  contentType: Type.String(),
  /** Every `set-cookie` header, unchanged, because joining would merge them. */
  setCookie: optional(Type.Array(Type.String())),
  /** For streams: the fields of the event. */
  event: optional(
    Type.Object({ type: optional(Type.String()), id: optional(Type.String()), retry: optional(Type.Number()) }),
  ),
  ...driftReport,
});

/** Meta of an HTTP response, or of one event of an HTTP stream. */
export interface HTTPResponseMeta extends Static<typeof HTTPResponseMetaSchema> {}

/** Schema of {@link MCPResponseMeta}. */
export const MCPResponseMetaSchema = Type.Object({
  source: Type.Literal("mcp"),
  /** The tool ran and reports an error as its result. This is not a thrown error. */
  isError: Type.Boolean(),
  /** The blocks of the result. */
  content: Type.Array(Type.Unsafe<MCPContentBlock>(MCPContentBlockSchema)),
  /** Raw structured output; any JSON value. */
  structuredContent: optional(Type.Unknown()),
  /** The `_meta` that the server added to the result. */
  _meta: optional(Type.Record(Type.String(), Type.Unknown())),
  ...driftReport,
});

/** Meta of an MCP tool result. */
export interface MCPResponseMeta extends Static<typeof MCPResponseMetaSchema> {}

/** Details of the response, distinguished by `source`. */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

/** Schema of {@link ResponseMeta}. */
export const ResponseMetaSchema = Type.Union([LocalResponseMetaSchema, HTTPResponseMetaSchema, MCPResponseMetaSchema]);

/**
 * The envelope around any output, as {@link ResponseEnvelope}. Does not restrict `data`; `outputSchema` does. JSON drops
 * `data: undefined`, so `data` may be missing.
 */
export const ResponseEnvelopeSchema = Type.Unsafe<ResponseEnvelope>(
  Type.Object({ data: Type.Optional(Type.Unknown({ description: "Operation output" })), meta: ResponseMetaSchema }),
);

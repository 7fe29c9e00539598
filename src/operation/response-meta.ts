import { Type } from "typebox";
import type { ResponseEnvelope } from "./envelope.ts";
import { type MCPContentBlock, MCPContentBlockSchema } from "./mcp-content.ts";

/** One difference between the received data and the operation's `outputSchema`. Never contains values. */
export interface Drift {
  /** JSON pointer into the data; `""` is the data itself. */
  path: string;
  /** The change that was made to the value. */
  kind: DriftKind;
  /** The expected value, in words. */
  message?: string;
}

/** The change that normalising made. `mismatch` means that the data was left unchanged and does not match the schema. */
export type DriftKind = "stripped" | "filled" | "converted" | "invented" | "mismatch";

/** Fields that the meta of every source can have. */
export interface DriftReport {
  /** Differences between the data and the schema; missing when there are none. At most 20 entries. */
  drift?: Drift[];
  /** Total number of differences; present when `drift` was truncated. */
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

/** Meta of an HTTP response, or of one event of an HTTP stream. */
export interface HTTPResponseMeta extends DriftReport {
  source: "http";
  /** Status of the response. */
  statusCode: number;
  /** Lower-case names; several values of one header are joined with `, `. */
  headers: Record<string, string>;
  /** The `content-type` header, unchanged; `""` when it was missing. */
  contentType: string;
  /** Every `set-cookie` header, unchanged, because joining would merge them. */
  setCookie?: string[];
  /** For streams: the fields of the event. */
  event?: { type?: string; id?: string; retry?: number };
}

/** Meta of an MCP tool result. */
export interface MCPResponseMeta extends DriftReport {
  source: "mcp";
  /** The tool ran and reports an error as its result. This is not a thrown error. */
  isError: boolean;
  /** The blocks of the result. */
  content: MCPContentBlock[];
  /** Raw structured output; any JSON value. */
  structuredContent?: unknown;
  /** The `_meta` that the server added to the result. */
  _meta?: Record<string, unknown>;
}

/** Details of the response, distinguished by `source`. */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

const driftReport = {
  drift: Type.Optional(
    Type.Array(
      Type.Object({
        path: Type.String({ description: "JSON pointer into the data" }),
        kind: Type.Union([
          Type.Literal("stripped"),
          Type.Literal("filled"),
          Type.Literal("converted"),
          Type.Literal("invented"),
          Type.Literal("mismatch"),
        ]),
        message: Type.Optional(Type.String()),
      }),
    ),
  ),
  driftTotal: Type.Optional(Type.Number()),
};

/** Meta of an operation that ran in this process, as {@link LocalResponseMeta}. */
export const LocalResponseMetaSchema = Type.Object({
  source: Type.Literal("local"),
  operationId: Type.String(),
  timestamp: Type.Number({ description: "Milliseconds since the epoch" }),
  ...driftReport,
});

/** Meta of an HTTP response, as {@link HTTPResponseMeta}. */
export const HTTPResponseMetaSchema = Type.Object({
  source: Type.Literal("http"),
  statusCode: Type.Number(),
  headers: Type.Record(Type.String(), Type.String()),
  contentType: Type.String(),
  setCookie: Type.Optional(Type.Array(Type.String())),
  event: Type.Optional(
    Type.Object({
      type: Type.Optional(Type.String()),
      id: Type.Optional(Type.String()),
      retry: Type.Optional(Type.Number()),
    }),
  ),
  ...driftReport,
});

/** Meta of an MCP tool result, as {@link MCPResponseMeta}. */
export const MCPResponseMetaSchema = Type.Object({
  source: Type.Literal("mcp"),
  isError: Type.Boolean(),
  content: Type.Array(MCPContentBlockSchema),
  structuredContent: Type.Optional(Type.Unknown()),
  _meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  ...driftReport,
});

/** Meta of any source, as {@link ResponseMeta}. */
export const ResponseMetaSchema = Type.Union([LocalResponseMetaSchema, HTTPResponseMetaSchema, MCPResponseMetaSchema]);

/**
 * The envelope around any output, as {@link ResponseEnvelope}. Does not restrict `data`; `outputSchema` does. JSON drops
 * `data: undefined`, so `data` may be missing.
 */
export const ResponseEnvelopeSchema = Type.Unsafe<ResponseEnvelope>(
  Type.Object({ data: Type.Optional(Type.Unknown({ description: "Operation output" })), meta: ResponseMetaSchema }),
);

import { Type } from "typebox";
import type { ResponseEnvelope } from "./envelope.ts";

const AnnotationsSchema = Type.Object({
  audience: Type.Optional(Type.Array(Type.Union([Type.Literal("user"), Type.Literal("assistant")]))),
  priority: Type.Optional(Type.Number()),
  lastModified: Type.Optional(Type.String()),
});

const ResourceContentSchema = Type.Object({
  uri: Type.String(),
  mimeType: Type.Optional(Type.String()),
  text: Type.Optional(Type.String()),
  blob: Type.Optional(Type.String()),
});

/** One block of an MCP result, as {@link MCPContentBlock}. */
export const MCPContentBlockSchema = Type.Union([
  Type.Object({ type: Type.Literal("text"), text: Type.String(), annotations: Type.Optional(AnnotationsSchema) }),
  Type.Object({
    type: Type.Literal("image"),
    data: Type.String(),
    mimeType: Type.String(),
    annotations: Type.Optional(AnnotationsSchema),
  }),
  Type.Object({
    type: Type.Literal("audio"),
    data: Type.String(),
    mimeType: Type.String(),
    annotations: Type.Optional(AnnotationsSchema),
  }),
  Type.Object({
    type: Type.Literal("resource"),
    resource: ResourceContentSchema,
    annotations: Type.Optional(AnnotationsSchema),
  }),
  Type.Object({
    type: Type.Literal("resource_link"),
    uri: Type.String(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    mimeType: Type.Optional(Type.String()),
  }),
]);

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

/** Meta of an HTTP answer, as {@link HTTPResponseMeta}. */
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

/** Facts of any wire, as {@link ResponseMeta}. */
export const ResponseMetaSchema = Type.Union([LocalResponseMetaSchema, HTTPResponseMetaSchema, MCPResponseMetaSchema]);

/**
 * The envelope around any output, as {@link ResponseEnvelope}. Says nothing about `data`; `outputSchema` does. JSON drops
 * `data: undefined`, so `data` may be missing.
 */
export const ResponseEnvelopeSchema = Type.Unsafe<ResponseEnvelope>(
  Type.Object({
    data: Type.Optional(Type.Unknown({ description: "Operation output" })),
    meta: ResponseMetaSchema,
  }),
);

import type { Static } from "typebox";
import { expectTypeOf } from "vitest";
import type { ResponseEnvelope } from "./envelope.ts";
import type { HTTPResponseMeta, LocalResponseMeta, MCPResponseMeta, ResponseMeta } from "./envelope-fields.ts";
import type { MCPContentBlock } from "./mcp-content.ts";
import type {
  HTTPResponseMetaSchema,
  LocalResponseMetaSchema,
  MCPContentBlockSchema,
  MCPResponseMetaSchema,
  OperationSpecSchema,
  ResponseEnvelopeSchema,
  ResponseMetaSchema,
} from "./schemas.ts";
import type { OperationSpec } from "./spec.ts";

// The static type of a schema is the documented interface.
expectTypeOf<Static<typeof OperationSpecSchema>>().toEqualTypeOf<OperationSpec>();
expectTypeOf<Static<typeof MCPContentBlockSchema>>().toEqualTypeOf<MCPContentBlock>();
expectTypeOf<Static<typeof LocalResponseMetaSchema>>().toEqualTypeOf<LocalResponseMeta>();
expectTypeOf<Static<typeof HTTPResponseMetaSchema>>().toEqualTypeOf<HTTPResponseMeta>();
expectTypeOf<Static<typeof MCPResponseMetaSchema>>().toEqualTypeOf<MCPResponseMeta>();
expectTypeOf<Static<typeof ResponseMetaSchema>>().toEqualTypeOf<ResponseMeta>();
expectTypeOf<Static<typeof ResponseEnvelopeSchema>>().toEqualTypeOf<ResponseEnvelope>();

// A discriminated union: the source determines the other fields.
declare const meta: ResponseMeta;
if (meta.source === "http") expectTypeOf(meta.statusCode).toEqualTypeOf<number>();
// @ts-expect-error only MCP results have isError
if (meta.source === "local") meta.isError;

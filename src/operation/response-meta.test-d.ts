import type { Static } from "typebox";
import { expectTypeOf } from "vitest";
import type { ResponseEnvelope } from "./envelope.ts";
import type { MCPContentBlock, MCPContentBlockSchema } from "./mcp-content.ts";
import type {
  HTTPResponseMeta,
  HTTPResponseMetaSchema,
  LocalResponseMeta,
  LocalResponseMetaSchema,
  MCPResponseMeta,
  MCPResponseMetaSchema,
  ResponseEnvelopeSchema,
  ResponseMeta,
  ResponseMetaSchema,
} from "./response-meta.ts";

// The type and the schema of a value are written by hand: each field must be in both, and of the same type.
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

import { type TSchema, Type } from "typebox";
import type { Field, Shape } from "../internal/shape.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import {
  envelopeFields,
  type HTTPResponseMeta,
  type LocalResponseMeta,
  type MCPResponseMeta,
  metaFields,
  type ResponseMeta,
} from "./envelope-fields.ts";
import { contentShapes, type MCPContentBlock } from "./mcp-content.ts";
import { type OperationSpec, specFields } from "./spec.ts";

/** The TypeBox schema of the objects that a shape describes. Additional properties are allowed. */
export function toObjectSchema<T>(shape: Shape) {
  return Type.Unsafe<T>(
    Type.Object(
      Object.fromEntries(
        Object.entries(shape).map(([name, field]) => {
          // JSON drops `undefined`, so a field that allows any value may be missing.
          const isOptional = field.isOptional || field.kind === "unknown";
          return [name, isOptional ? Type.Optional(toFieldSchema(field)) : toFieldSchema(field)];
        }),
      ),
    ),
  );
}

function toFieldSchema(field: Field): TSchema {
  const options = field.description === undefined ? {} : { description: field.description };
  switch (field.kind) {
    case "string":
      return Type.String({ ...options, ...toStringLimits(field) });
    case "number": {
      const { isInteger, min, max } = field;
      const limits = {
        ...(min > -Number.MAX_VALUE ? { minimum: min } : {}),
        ...(max < Number.MAX_VALUE ? { maximum: max } : {}),
      };
      return isInteger ? Type.Integer({ ...options, ...limits }) : Type.Number({ ...options, ...limits });
    }
    case "boolean":
      return Type.Boolean(options);
    case "enum":
      return toUnion(field.values.map((value) => Type.Literal(value)));
    case "array":
      return Type.Array(toFieldSchema(field.item), options);
    case "object":
      return toObjectSchema(field.shape);
    case "record":
      return Type.Record(Type.String(), toFieldSchema(field.item), options);
    case "union":
      return toUnion(field.shapes.map((shape) => toObjectSchema(shape)));
    case "schema": // Any JSON Schema; its keywords are checked when it is compiled.
      return Type.Unsafe({ type: ["object", "boolean"] });
    case "unknown":
      return Type.Unknown(options);
  }
}

function toStringLimits({ minLength, maxLength, pattern }: Field & { kind: "string" }) {
  return {
    ...(minLength > 0 ? { minLength } : {}),
    ...(Number.isFinite(maxLength) ? { maxLength } : {}),
    ...(pattern === undefined ? {} : { pattern: pattern.source }),
  };
}

function toUnion(schemas: TSchema[]): TSchema {
  return schemas.length === 1 ? schemas[0]! : Type.Union(schemas);
}

/** Schema of an {@link OperationSpec} in JSON. Additional properties are allowed. */
export const OperationSpecSchema = toObjectSchema<OperationSpec>(specFields);

/** One block of an MCP result, as {@link MCPContentBlock}. */
export const MCPContentBlockSchema = Type.Unsafe<MCPContentBlock>(
  Type.Union(contentShapes.map((shape) => toObjectSchema(shape))),
);

/** Meta of an operation that ran in this process, as {@link LocalResponseMeta}. */
export const LocalResponseMetaSchema = toObjectSchema<LocalResponseMeta>(metaFields.local);

/** Meta of an HTTP response, as {@link HTTPResponseMeta}. */
export const HTTPResponseMetaSchema = toObjectSchema<HTTPResponseMeta>(metaFields.http);

/** Meta of an MCP tool result, as {@link MCPResponseMeta}. */
export const MCPResponseMetaSchema = toObjectSchema<MCPResponseMeta>(metaFields.mcp);

/** Meta of any source, as {@link ResponseMeta}. */
export const ResponseMetaSchema = Type.Unsafe<ResponseMeta>(
  Type.Union([LocalResponseMetaSchema, HTTPResponseMetaSchema, MCPResponseMetaSchema]),
);

/**
 * The envelope around any output, as {@link ResponseEnvelope}. Does not restrict `data`; `outputSchema` does. JSON drops
 * `data: undefined`, so `data` may be missing.
 */
export const ResponseEnvelopeSchema = toObjectSchema<ResponseEnvelope>(envelopeFields);

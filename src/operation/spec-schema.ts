import { type TSchema, Type } from "typebox";
import { namePattern, namespacePattern } from "./operation-id.ts";

const text = Type.String();
const texts = Type.Array(text);

/** Any JSON Schema; what it says is checked when it is compiled. */
const SchemaSchema = Type.Unsafe<TSchema>({ type: ["object", "boolean"] });

const AccessControlSchema = Type.Object({
  requiredScopes: texts,
  requiredScopesAny: Type.Optional(texts),
  resourceType: Type.Optional(Type.String({ pattern: "^[^:]+$" })),
  resourceAction: Type.Optional(text),
  resourceId: Type.Optional(
    Type.String({ pattern: "^(/([^~]|~[01])*)?$", description: "JSON pointer into the input" }),
  ),
  customAuth: Type.Optional(text),
});

const ErrorDefinitionSchema = Type.Object({
  code: Type.String({ minLength: 1 }),
  description: Type.Optional(text),
  schema: SchemaSchema,
  httpStatus: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
});

/** Schema of an {@link OperationSpec} that came as JSON. Properties it does not name are allowed. */
export const OperationSpecSchema = Type.Object({
  namespace: Type.String({ pattern: namespacePattern.source }),
  name: Type.String({ pattern: namePattern.source }),
  version: text,
  type: Type.Union([Type.Literal("query"), Type.Literal("mutation"), Type.Literal("subscription")]),
  title: Type.Optional(text),
  description: text,
  tags: Type.Optional(texts),
  inputSchema: SchemaSchema,
  outputSchema: SchemaSchema,
  errorSchemas: Type.Optional(Type.Array(ErrorDefinitionSchema)),
  accessControl: AccessControlSchema,
  idempotent: Type.Optional(Type.Boolean()),
  outputPolicy: Type.Optional(Type.Union([Type.Literal("cast"), Type.Literal("check"), Type.Literal("strict")])),
  _meta: Type.Optional(Type.Record(text, Type.Unknown())),
});

import type { Argument } from "./arguments.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { BodyEntry, MediaEntry } from "./entry.ts";
import { mediaKind } from "./media-kind.ts";
import type { Located } from "./references.ts";
import { isBinary, SchemaCopy } from "./schema-copy.ts";
import { isObject, type JSONObject, put } from "./values.ts";

/** Schemas that an input is made of; `[]` for an entry without parameters and body. */
export function inputSchemasOf(given: Argument[], body: BodyEntry | undefined): Located[] {
  const schemas = given.map(({ parameter }) => parameter.schema);
  return [...schemas, ...describing(body).map(({ schema }) => schema)].filter((schema) => schema !== undefined);
}

/** One object for everything that a caller gives: parameters by name, the body under `body`. */
export function toInputSchema(document: OpenAPIDocument, given: Argument[], body: BodyEntry | undefined): JSONObject {
  const copy = new SchemaCopy(document, "input");
  const properties: JSONObject = {};
  const required: string[] = [];
  for (const { parameter, argument } of given) {
    const { schema, description, deprecated } = parameter;
    const plain = schema === undefined ? {} : copy.copy(schema);
    const value = parameter.allowEmptyValue ? { anyOf: [plain, { const: "" }] } : plain;
    put(
      properties,
      argument,
      describe(value, { ...(description && { description }), ...(deprecated && { deprecated }) }),
    );
    if (parameter.required) required.push(argument);
  }
  if (body !== undefined) {
    const { description } = body;
    properties["body"] = describe(toBodySchema(copy, body), { ...(description && { description }) });
    if (body.required) required.push("body");
  }
  const $defs = copy.definitions();
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...($defs && { $defs }),
  };
}

/** Media types whose schema describes what callers give. XML is given as text, so it only counts when alone. */
function describing(body: BodyEntry | undefined): MediaEntry[] {
  const media = body?.media ?? [];
  const others = media.filter(({ mediaType }) => mediaKind(mediaType) !== "xml");
  return others.length > 0 ? others : media;
}

function toBodySchema(copy: SchemaCopy, body: BodyEntry): unknown {
  const schemas: unknown[] = [];
  const known = new Map<unknown, Set<boolean>>();
  for (const media of describing(body)) {
    const takesBinary = mayHoldBinary(media);
    const kinds = known.get(media.schema?.value) ?? new Set();
    known.set(media.schema?.value, kinds);
    if (media.schema !== undefined && kinds.has(takesBinary)) continue;
    kinds.add(takesBinary);
    schemas.push(toMediaSchema(copy, media, takesBinary));
  }
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return distinct.length === 0 ? {} : distinct.length === 1 ? distinct[0] : { anyOf: distinct };
}

function mayHoldBinary({ mediaType }: MediaEntry): boolean {
  const kind = mediaKind(mediaType);
  return kind === "multipart" || kind === "binary" || kind === "any";
}

function toMediaSchema(copy: SchemaCopy, { mediaType, schema }: MediaEntry, binary: boolean): unknown {
  const kind = mediaKind(mediaType);
  if (kind === "xml") return { type: "string", description: "XML, as text" };
  // Bytes have no JSON type, and neither has what a stream of lines is given as.
  if (kind === "binary" && (schema === undefined || isBinary(schema.value) || isPlainText(schema.value))) return {};
  if (schema === undefined) return kind === "text" ? { type: "string" } : {};
  return copy.copy(schema, { binary });
}

function isPlainText(schema: unknown): boolean {
  return isObject(schema) && schema["type"] === "string";
}

function describe(schema: unknown, annotations: JSONObject): unknown {
  if (Object.keys(annotations).length === 0) return schema;
  if (!isObject(schema)) return schema === false ? { not: {}, ...annotations } : annotations;
  return { ...schema, ...annotations };
}

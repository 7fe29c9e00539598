import type { OpenAPIDocument } from "./document.ts";
import type { ResponseEntry } from "./entry.ts";
import { mediaKind } from "./media-kind.ts";
import type { Located } from "./references.ts";
import { SchemaCopy } from "./schema-copy.ts";
import type { JSONObject } from "./values.ts";

/** Declared answers that are thrown: 4xx and 5xx, single ones and ranges. */
export function errorResponses(responses: ResponseEntry[]): ResponseEntry[] {
  return responses.filter(({ status }) => status.startsWith("4") || status.startsWith("5"));
}

/** The code of a declared error: `404` is `HTTP_404`, `4XX` is `HTTP_4XX`. */
export function errorCode(status: string): string {
  return `HTTP_${status}`;
}

/** Schemas of the JSON bodies of an error. */
export function errorSchemasOf({ media }: ResponseEntry): Located[] {
  return media
    .filter(({ mediaType }) => ["json", "any"].includes(mediaKind(mediaType)))
    .flatMap(({ schema }) => schema ?? []);
}

/** The shape of the error's details: what the wire said, and the body as it was declared. */
export function toErrorSchema(document: OpenAPIDocument, response: ResponseEntry, readable: boolean): JSONObject {
  const copy = new SchemaCopy(document, "output");
  const schemas = readable ? errorSchemasOf(response) : [];
  const bodies = schemas.map((schema) => copy.copy(schema));
  const body = bodies.length === 0 ? {} : bodies.length === 1 ? bodies[0] : { anyOf: bodies };
  const $defs = copy.definitions();
  return {
    type: "object",
    ...(response.description !== "" && { description: response.description }),
    properties: {
      status: toStatusSchema(response.status),
      headers: { type: "object", additionalProperties: { type: "string" } },
      contentType: { type: "string" },
      body,
    },
    required: ["status", "headers", "contentType"],
    ...($defs && { $defs }),
  };
}

function toStatusSchema(status: string): JSONObject {
  if (!status.endsWith("XX")) return { const: Number(status) };
  const from = Number(status[0]) * 100;
  return { type: "integer", minimum: from, maximum: from + 99 };
}

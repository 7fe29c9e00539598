import type { JSONObject } from "../../internal/objects.ts";
import { getOwn } from "../../internal/objects.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { EndpointMedia, EndpointResponse } from "./endpoint.ts";
import { type Located, within } from "./references.ts";
import { isBinary, SchemaCopy } from "./schema-copy.ts";
import { isStream, mediaKind, type StreamKind } from "./wire/media-type.ts";

/** Returns the success responses: every 2xx, or `default` if no 2xx is declared. */
export function successResponses(responses: EndpointResponse[]): EndpointResponse[] {
  const successes = responses.filter(({ status }) => status.startsWith("2"));
  return successes.length > 0 ? successes : responses.filter(({ status }) => status === "default");
}

/** The possible forms of an endpoint's success responses. */
export interface OutputChoice {
  /** Media types of the single response. Empty if it has no body or the endpoint only streams. */
  single: EndpointMedia[];
  /** Media types of the stream, all with the same framing. */
  stream: EndpointMedia[];
  streamKind?: StreamKind;
  hasSingle: boolean;
}

/** Separates single responses from streams. An endpoint has both only if it also declares JSON. */
export function chooseOutput(responses: EndpointResponse[]): OutputChoice {
  const media = successResponses(responses).flatMap((response) => response.media);
  const streams = media.filter(({ mediaType }) => isStream(mediaKind(mediaType)));
  const single = media.filter(({ mediaType }) => !isStream(mediaKind(mediaType)));
  const streamKind = streams[0] === undefined ? undefined : (mediaKind(streams[0].mediaType) as StreamKind);
  return {
    single,
    stream: streams.filter(({ mediaType }) => mediaKind(mediaType) === streamKind),
    streamKind,
    hasSingle: streamKind === undefined || single.some(isJSONLike),
  };
}

/** Whether a media type is JSON, or a range whose schema describes JSON. */
function isJSONLike({ mediaType, schema }: EndpointMedia): boolean {
  const kind = mediaKind(mediaType);
  if (kind === "json") return true;
  return kind === "any" && !isBinary(schema?.value) && getOwn(schema?.value, "type") !== "string";
}

/** Returns the schemas of the single response, or of each event of the stream. */
export function outputSchemasOf(document: OpenAPIDocument, choice: OutputChoice, streaming: boolean): Located[] {
  if (streaming) return choice.stream.flatMap((media) => eventSchema(document, media) ?? []);
  return choice.single.filter(isJSONLike).flatMap(({ schema }) => schema ?? []);
}

/** Returns the schema of `data`, or `{}` if it is unknown, as for binary responses. */
export function toOutputSchema(document: OpenAPIDocument, choice: OutputChoice, streaming: boolean): unknown {
  const json = choice.single.filter(isJSONLike);
  if (!streaming && json.length === 0) return toTextSchema(choice.single);
  const schemas = outputSchemasOf(document, choice, streaming);
  // One response without a schema makes the whole output unknown.
  if (schemas.length < (streaming ? choice.stream : json).length) return {};
  const copy = new SchemaCopy(document, "output");
  const distinct = [...new Map(schemas.map((schema) => [schema.value, schema])).values()];
  const copies = distinct.map((schema) => copy.copy(schema));
  const unique = [...new Map(copies.map((schema) => [JSON.stringify(schema), schema])).values()];
  const $defs = copy.definitions();
  const whole = unique.length === 1 ? unique[0] : { anyOf: unique };
  return typeof whole === "object" && $defs !== undefined ? { ...whole, $defs } : whole;
}

/** Returns a string schema for text and XML. Bytes have no schema. */
function toTextSchema(media: EndpointMedia[]): unknown {
  const isText = media.length > 0 && media.every(({ mediaType }) => ["text", "xml"].includes(mediaKind(mediaType)));
  return isText ? { type: "string" } : {};
}

/**
 * Returns the schema of one event's data. OpenAPI 3.2 declares it as `itemSchema`, which for server-sent events
 * describes the fields of the event. In earlier versions, authors write it as the schema of the whole response. A
 * string schema does not describe a single event.
 */
function eventSchema(document: OpenAPIDocument, { mediaType, schema, itemSchema }: EndpointMedia): Located | undefined {
  if (itemSchema !== undefined) return mediaKind(mediaType) === "sse" ? dataSchema(document, itemSchema) : itemSchema;
  if (schema === undefined) return undefined;
  const whole = document.references.tryDeref(schema) ?? schema;
  if (getOwn(whole.value, "type") === "string") return undefined;
  const isList = getOwn(whole.value, "type") === "array" && getOwn(whole.value, "items") !== undefined;
  if (!isList) return schema;
  const item = within(whole, "items");
  return hasJSONContent(item.value) ? within(item, "contentSchema") : item;
}

/** Whether a schema describes a string that contains JSON with a known schema. */
function hasJSONContent(schema: unknown): boolean {
  return getOwn(schema, "contentMediaType") === "application/json" && getOwn(schema, "contentSchema") !== undefined;
}

/** Whether the document declares that the data of each event is JSON, as that of a server of this package does. */
export function hasJSONEvents(document: OpenAPIDocument, { stream }: OutputChoice): boolean {
  const isDeclared = ({ mediaType, schema }: EndpointMedia) => {
    const whole = schema && document.references.tryDeref(schema);
    return mediaKind(mediaType) === "sse" && hasJSONContent(getOwn(whole?.value, "items"));
  };
  return stream.length > 0 && stream.every(isDeclared);
}

function dataSchema(document: OpenAPIDocument, itemSchema: Located): Located | undefined {
  const data = within(document.references.tryDeref(itemSchema) ?? itemSchema, "properties", "data");
  if (data.value === undefined) return undefined;
  if (getOwn(data.value, "contentSchema") !== undefined) return within(data, "contentSchema");
  return getOwn(document.references.tryDeref(data)?.value, "type") === "string" ? undefined : data;
}

/** Returns the declared error responses: 4xx and 5xx, single statuses and ranges. */
export function errorResponses(responses: EndpointResponse[]): EndpointResponse[] {
  return responses.filter(({ status }) => status.startsWith("4") || status.startsWith("5"));
}

/** Returns the code of a declared error: `404` becomes `HTTP_404`, `4XX` becomes `HTTP_4XX`. */
export function errorCode(status: string): string {
  return `HTTP_${status}`;
}

/** Returns the schemas of the JSON bodies of an error. */
export function errorSchemasOf({ media }: EndpointResponse): Located[] {
  return media
    .filter(({ mediaType }) => ["json", "any"].includes(mediaKind(mediaType)))
    .flatMap(({ schema }) => schema ?? []);
}

/** Returns the schema of the error's details: the status, the headers and the declared body. */
export function toErrorSchema(document: OpenAPIDocument, response: EndpointResponse, readable: boolean): JSONObject {
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

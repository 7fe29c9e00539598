import type { OpenAPIDocument } from "./document.ts";
import type { MediaEntry, ResponseEntry } from "./entry.ts";
import { isStream, mediaKind, type StreamKind } from "./media-kind.ts";
import { within } from "./read-entry.ts";
import type { Located } from "./references.ts";
import { isBinary, SchemaCopy } from "./schema-copy.ts";
import { own } from "./values.ts";

/** The answers that mean success: every 2xx; `default` only when no 2xx is declared. */
export function successResponses(responses: ResponseEntry[]): ResponseEntry[] {
  const successes = responses.filter(({ status }) => status.startsWith("2"));
  return successes.length > 0 ? successes : responses.filter(({ status }) => status === "default");
}

/** What the success answers of an entry can be read as. */
export interface OutputChoice {
  /** Media types of the single answer; empty when it has no body or the entry only streams. */
  single: MediaEntry[];
  /** Media types of the stream that is read, all of one kind. */
  stream: MediaEntry[];
  streamKind?: StreamKind;
  hasSingle: boolean;
}

/** Tells single answers from streams. An entry streams besides answering only where it also offers JSON. */
export function chooseOutput(responses: ResponseEntry[]): OutputChoice {
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

/** JSON, or a range whose schema describes JSON. */
function isJSONLike({ mediaType, schema }: MediaEntry): boolean {
  const kind = mediaKind(mediaType);
  if (kind === "json") return true;
  return kind === "any" && !isBinary(schema?.value) && own(schema?.value, "type") !== "string";
}

/** Schemas that the output of the single answer, or of each event of the stream, is made of. */
export function outputSchemasOf(document: OpenAPIDocument, choice: OutputChoice, streaming: boolean): Located[] {
  if (streaming) return choice.stream.flatMap((media) => eventSchema(document, media) ?? []);
  return choice.single.filter(isJSONLike).flatMap(({ schema }) => schema ?? []);
}

/** What `data` looks like. `{}` where nothing is known about it, as for binary answers. */
export function toOutputSchema(document: OpenAPIDocument, choice: OutputChoice, streaming: boolean): unknown {
  const json = choice.single.filter(isJSONLike);
  if (!streaming && json.length === 0) return toTextSchema(choice.single);
  const schemas = outputSchemasOf(document, choice, streaming);
  // One answer of which nothing is known makes the whole unknown.
  if (schemas.length < (streaming ? choice.stream : json).length) return {};
  const copy = new SchemaCopy(document, "output");
  const distinct = [...new Map(schemas.map((schema) => [schema.value, schema])).values()];
  const copies = distinct.map((schema) => copy.copy(schema));
  const unique = [...new Map(copies.map((schema) => [JSON.stringify(schema), schema])).values()];
  const $defs = copy.definitions();
  const whole = unique.length === 1 ? unique[0] : { anyOf: unique };
  return typeof whole === "object" && $defs !== undefined ? { ...whole, $defs } : whole;
}

/** Text and XML come as a string; of bytes nothing can be said. */
function toTextSchema(media: MediaEntry[]): unknown {
  const isText = media.length > 0 && media.every(({ mediaType }) => ["text", "xml"].includes(mediaKind(mediaType)));
  return isText ? { type: "string" } : {};
}

/**
 * The schema of one event's data. 3.2 declares it as `itemSchema`, for server-sent events around the fields of the
 * event; before, authors wrote it as the schema of the whole. A plain string says nothing about the single event.
 */
function eventSchema(document: OpenAPIDocument, { mediaType, schema, itemSchema }: MediaEntry): Located | undefined {
  if (itemSchema !== undefined) return mediaKind(mediaType) === "sse" ? dataSchema(document, itemSchema) : itemSchema;
  if (schema === undefined) return undefined;
  const whole = document.references.tryDeref(schema) ?? schema;
  if (own(whole.value, "type") === "string") return undefined;
  const isList = own(whole.value, "type") === "array" && own(whole.value, "items") !== undefined;
  return isList ? within(whole, "items") : schema;
}

function dataSchema(document: OpenAPIDocument, itemSchema: Located): Located | undefined {
  const data = within(document.references.tryDeref(itemSchema) ?? itemSchema, "properties", "data");
  if (data.value === undefined) return undefined;
  if (own(data.value, "contentSchema") !== undefined) return within(data, "contentSchema");
  return own(document.references.tryDeref(data)?.value, "type") === "string" ? undefined : data;
}

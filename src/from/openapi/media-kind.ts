import { essence, isJSON, isText, streamKind } from "./wire/media-type.ts";

/** Kinds of stream that are read event by event. */
export type StreamKind = NonNullable<ReturnType<typeof streamKind>>;

/** What a media type means for the schema of a body or an answer. `any` is a range, which the schema decides. */
export type MediaKind = StreamKind | "json" | "form" | "multipart" | "xml" | "text" | "any" | "binary";

/** Tells what a media type means. */
export function mediaKind(mediaType: string): MediaKind {
  const stream = streamKind(mediaType);
  if (stream !== undefined) return stream;
  const bare = essence(mediaType);
  if (isJSON(bare)) return "json";
  if (bare === "application/x-www-form-urlencoded") return "form";
  if (bare.startsWith("multipart/")) return "multipart";
  if (bare === "application/xml" || bare === "text/xml" || bare.endsWith("+xml")) return "xml";
  if (isText(bare)) return "text";
  return bare === "*/*" || bare === "application/*" || bare === "*" ? "any" : "binary";
}

/** Whether answers of this kind come event by event. */
export function isStream(kind: MediaKind): kind is StreamKind {
  return kind === "sse" || kind === "ndjson" || kind === "json-seq";
}

/**
 * Returns the media type of a `Content-Type` value, in lower case and without parameters. Of several values, it uses
 * the first.
 */
export function essence(contentType: string): string {
  const end = contentType.search(/[;,]/);
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Whether a string is a valid media type, parameters included. */
export function isMediaType(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;[\t\x20-\x7e]*)?$/.test(text);
}

/** Whether a media type is JSON: `application/json`, `text/json`, or one with the `+json` suffix. */
export function isJSON(contentType: string): boolean {
  if (contentType === "application/json") return true;
  const type = essence(contentType);
  return type === "application/json" || type === "text/json" || type.endsWith("+json");
}

const textual = new Set([
  "application/xml",
  "application/x-www-form-urlencoded",
  "application/javascript",
  "application/ecmascript",
  "application/graphql",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
  "application/sql",
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
  "application/json-seq",
]);

/** Whether content of a media type becomes a string. XML is included. */
export function isText(contentType: string): boolean {
  const type = essence(contentType);
  return type.startsWith("text/") || type.endsWith("+xml") || type.endsWith("+yaml") || textual.has(type);
}

/** Returns the framing of a stream with this media type. */
export function streamKind(contentType: string): "sse" | "ndjson" | "json-seq" | undefined {
  switch (essence(contentType)) {
    case "text/event-stream":
      return "sse";
    case "application/x-ndjson":
    case "application/ndjson":
    case "application/jsonl":
    case "application/x-jsonl":
    case "application/x-jsonlines":
    case "application/jsonlines":
    case "application/stream+json":
    case "application/x-json-stream":
      return "ndjson";
    case "application/json-seq":
    case "application/geo+json-seq":
      return "json-seq";
    default:
      return undefined;
  }
}

/** Whether `type` is in `range`, such as `image/png` in `image/*`. */
export function matchesRange(type: string, range: string): boolean {
  const wanted = essence(range);
  if (wanted === "*/*" || wanted === essence(type)) return true;
  return wanted.endsWith("/*") && essence(type).startsWith(wanted.slice(0, -1));
}

/** Returns the `charset` of a `Content-Type` value, if it has one. */
export function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
}

/** Framings of streams that are read event by event. */
export type StreamKind = NonNullable<ReturnType<typeof streamKind>>;

/**
 * Category of a media type for the schema of a body or a response. `any` is a range whose schema determines the
 * category.
 */
export type MediaKind = StreamKind | "json" | "form" | "multipart" | "xml" | "text" | "any" | "binary";

/** Classifies a media type. */
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

/** Whether responses of this category are read event by event. */
export function isStream(kind: MediaKind): kind is StreamKind {
  return kind === "sse" || kind === "ndjson" || kind === "json-seq";
}

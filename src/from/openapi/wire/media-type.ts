/** The bare media type of a `Content-Type` value, in lower case and without parameters. Of several the first. */
export function essence(contentType: string): string {
  const end = contentType.search(/[;,]/);
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Whether a text can stand as a media type in a header, parameters included. */
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

/** Whether a media type is text that is handed on as a string. XML is. */
export function isText(contentType: string): boolean {
  const type = essence(contentType);
  return type.startsWith("text/") || type.endsWith("+xml") || type.endsWith("+yaml") || textual.has(type);
}

/** The framing of a stream by its media type. */
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

/** Whether `type` falls under `range`, such as `image/png` under `image/*`. */
export function matchesRange(type: string, range: string): boolean {
  const wanted = essence(range);
  if (wanted === "*/*" || wanted === essence(type)) return true;
  return wanted.endsWith("/*") && essence(type).startsWith(wanted.slice(0, -1));
}

/** The `charset` of a `Content-Type` value, if it has one. */
export function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
}

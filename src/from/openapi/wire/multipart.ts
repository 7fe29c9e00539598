import { fromLooseBase64 } from "../../../internal/base64.ts";
import type { EncodingPlan } from "../endpoint.ts";
import { toJSON, toText } from "./encode.ts";
import { isConnectionHeader, isHeaderName, isHeaderValue } from "./headers.ts";
import { essence, isJSON, matchesRange } from "./media-type.ts";
import { hasStyle, presentItems, presentMembers, toStyledPairs } from "./style.ts";

/** Predicate of a message whose subject is the argument. */
export const loneSurrogate = "contains a lone surrogate, which cannot be sent as UTF-8";

/** Returns whether a string has no lone surrogate, which UTF-8 cannot represent: encoders replace it by U+FFFD. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

interface Part {
  name?: string;
  filename?: string;
  contentType?: string;
  headers?: Record<string, string>;
  content: BlobPart;
}

/** A multipart body and the `Content-Type` that names its boundary. */
export interface MultipartBody {
  body: Blob;
  contentType: string;
}

/**
 * Writes an object or a `FormData` as a multipart body, one part per property and per element of an array. The
 * platform's own writer is not used because it can set neither the media type of a field nor the headers of a part.
 * Streams are read into memory, because many servers refuse a body of unknown length. Throws a `TypeError` for a value
 * that cannot be written; its message does not contain the value.
 */
export async function toMultipart(
  value: Record<string, unknown> | FormData | unknown[],
  mediaType: string,
  encodings: Record<string, EncodingPlan>,
): Promise<MultipartBody> {
  const isForm = essence(mediaType) === "multipart/form-data";
  const boundary = makeBoundary();
  const chunks: BlobPart[] = [];
  for (const part of await toParts(value, encodings)) {
    const headers = formatHeaders(part, isForm);
    if (!isWellFormed(headers) || (typeof part.content === "string" && !isWellFormed(part.content))) {
      throw new TypeError(loneSurrogate);
    }
    chunks.push(`--${boundary}\r\n${headers}\r\n`, part.content, "\r\n");
  }
  chunks.push(`--${boundary}--\r\n`);
  return { body: new Blob(chunks), contentType: `${essence(mediaType)}; boundary=${boundary}` };
}

async function toParts(
  value: Record<string, unknown> | FormData | unknown[],
  encodings: Record<string, EncodingPlan>,
): Promise<Part[]> {
  const members: Array<[string | undefined, unknown]> =
    value instanceof FormData
      ? [...value.entries()]
      : Array.isArray(value)
        ? presentItems(value).map((item) => [undefined, item])
        : presentMembers(value);
  const parts: Part[] = [];
  for (const [name, member] of members) {
    const encoding = name !== undefined && Object.hasOwn(encodings, name) ? encodings[name] : undefined;
    if (name !== undefined && encoding !== undefined && hasStyle(encoding)) {
      for (const [key, text] of toStyledPairs(name, member, encoding)) parts.push({ name: key, content: text });
      continue;
    }
    for (const item of Array.isArray(member) ? presentItems(member) : [member]) {
      parts.push({ ...(name === undefined ? {} : { name }), ...(await toPart(item, encoding)) });
    }
  }
  return parts;
}

async function toPart(value: unknown, encoding: EncodingPlan | undefined): Promise<Part> {
  const declared = encoding?.contentType?.split(",").map((type) => type.trim());
  const headers = declaredHeaders(encoding, isBase64File(value) ? value.headers : undefined);
  if (isBase64File(value)) return { ...base64Part(value, declared), headers };
  if (isBinary(value)) {
    const content = value instanceof ReadableStream ? await new Response(value).blob() : (value as BlobPart);
    const own = value instanceof Blob ? value.type : "";
    const filename = value instanceof File ? value.name : "blob";
    return { filename, contentType: fileType(own, declared), headers, content };
  }
  const isObject = typeof value === "object" && value !== null && !(value instanceof Date);
  const contentType = declared?.find((type) => !type.includes("*")) ?? (isObject ? "application/json" : undefined);
  const asJSON = isObject || (contentType !== undefined && isJSON(contentType));
  const content = asJSON ? toJSON(value) : toText(value);
  return { ...(contentType === undefined ? {} : { contentType }), headers, content };
}

function base64Part(file: Base64File, declared: string[] | undefined): Part {
  const content = fromLooseBase64(file.base64);
  if (content === undefined) throw new TypeError("contains a file whose base64 is not valid");
  return { filename: file.filename ?? "blob", contentType: fileType(file.type ?? "", declared), content };
}

/** Returns the file's own type if the document allows it, or else the declared type. */
function fileType(own: string, declared: string[] | undefined): string {
  if (own !== "" && (declared === undefined || declared.some((range) => matchesRange(own, range)))) return own;
  return declared?.find((type) => !type.includes("*")) ?? "application/octet-stream";
}

/** Returns the declared headers of a part, with the caller's value or the fixed value of the document. */
function declaredHeaders(
  encoding: EncodingPlan | undefined,
  given: Record<string, string> | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, declaration] of Object.entries(encoding?.headers ?? {})) {
    const value = (given && lookUp(given, name)) ?? fixedValue(declaration);
    const isOurs = /^content-(?:type|disposition)$/i.test(name) || isConnectionHeader(name);
    if (value !== undefined && !isOurs) headers[name] = value;
  }
  return headers;
}

function lookUp(headers: Record<string, string>, name: string): string | undefined {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}

function fixedValue(declaration: unknown): string | undefined {
  const schema = (declaration as { schema?: { const?: unknown; default?: unknown } } | null)?.schema;
  const value = schema?.const ?? schema?.default;
  return value === undefined ? undefined : toText(value);
}

function formatHeaders(part: Part, isForm: boolean): string {
  let text = "";
  if (isForm && part.name !== undefined) {
    const filename = part.filename === undefined ? "" : `; filename="${escapeName(part.filename)}"`;
    text += `Content-Disposition: form-data; name="${escapeName(part.name)}"${filename}\r\n`;
  }
  if (part.contentType !== undefined) text += formatHeader("Content-Type", part.contentType);
  for (const [name, value] of Object.entries(part.headers ?? {})) text += formatHeader(name, value);
  return text;
}

function formatHeader(name: string, value: string): string {
  if (!isHeaderName(name) || !isHeaderValue(value)) throw new TypeError("contains a part with an invalid header");
  return `${name}: ${value}\r\n`;
}

// Escapes like browsers (HTML, multipart/form-data encoding algorithm), so that a name cannot end the quotes or the
// line.
function escapeName(name: string): string {
  return name.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22").replaceAll("\0", "%00");
}

/** Creates a boundary that is cryptographically random, so that content cannot be crafted to contain it. */
function makeBoundary(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return `----operations${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Binary content in JSON form, for callers that cannot pass binary values. */
export interface Base64File {
  base64: string;
  filename?: string;
  type?: string;
  /** Values of the headers that the document declares for this part of a multipart body. */
  headers?: Record<string, string>;
}

/** Whether a value is binary by its class. */
export function isBinary(value: unknown): value is ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array> {
  if (typeof value !== "object" || value === null) return false;
  return (
    value instanceof Blob ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value) ||
    value instanceof ReadableStream
  );
}

const fileKeys = new Set(["base64", "filename", "type", "headers"]);

/** Whether a value is a file in JSON form: it has a `base64` string and only properties of a file. */
export function isBase64File(value: unknown): value is Base64File {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (!Object.hasOwn(value, "base64") || typeof (value as Base64File).base64 !== "string") return false;
  return Object.keys(value).every((key) => fileKeys.has(key));
}

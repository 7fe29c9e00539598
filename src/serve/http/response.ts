import { toBase64 } from "../../internal/base64.ts";
import { truncate } from "../../internal/text.ts";
import type { CallErrorJSON, ResponseEnvelope, ResponseMeta } from "../../operation/inside.ts";
import { statusTexts, toJSONText } from "../../transport/http-form.ts";
import { readBytes, toPublicMeta } from "../outcome.ts";

/** Headers that web pages of allowed origins may read. */
export const exposedHeaders: readonly string[] = ["operation-id", "request-id", "drift-total", "retry-after"];

/** Returns the headers of a response to a call. A literal, because creating it is a large part of the cost of a response. */
export function callHeaders(contentType: string, operationId: string, requestId: string): Record<string, string> {
  return {
    "content-type": contentType,
    "operation-id": operationId,
    "request-id": requestId,
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    "cache-control": "no-store",
  };
}

/** Returns an operation id as the value of a header, which must be printable ASCII. */
export function toHeaderValue(text: string): string {
  return /^[!-~]+$/.test(text) ? text : encodeURIComponent(text);
}

/** Returns the media type of bytes: that of an imported API, without parameters, if it is well-formed. */
export function mediaTypeOf(meta: ResponseMeta): string {
  const sent = meta.source === "http" ? /^[\w.+-]+\/[\w.+-]+/.exec(meta.contentType)?.[0] : undefined;
  return sent ?? "application/octet-stream";
}

/** Formats an envelope as JSON. Bytes at the root of the data become base64, which `encoding` marks. */
export function formatEnvelope({ data, meta }: ResponseEnvelope): string {
  const metaText = JSON.stringify(toPublicMeta(meta));
  const bytes = readBytes(data);
  if (bytes !== undefined) return `{"data":"${toBase64(bytes)}","encoding":"base64","meta":${metaText}}`;
  const text = toJSONText(data);
  return text === undefined ? `{"meta":${metaText}}` : `{"data":${text},"meta":${metaText}}`;
}

/** Formats an error as problem details (RFC 9457). */
export function formatProblem(status: number, error: CallErrorJSON, requestId: string): string {
  const { code, message, details, retryable, mayHaveRun } = error;
  const title = statusTexts[status] ?? truncate(code, 100);
  return JSON.stringify({ title, status, detail: message, code, details, retryable, mayHaveRun, requestId });
}

import { toBase64 } from "../../internal/base64.ts";
import { statusTexts } from "../../internal/http.ts";
import { truncate } from "../../internal/text.ts";
import type { CallErrorJSON, ResponseEnvelope } from "../../operation/index.ts";
import { readBytes, toJSONText, toPublicMeta } from "../outcome.ts";
import { envelopeType } from "./request.ts";

/** Headers that web pages of allowed origins may read. */
export const exposedHeaders: readonly string[] = ["operation-id", "request-id", "drift-total", "retry-after"];

/** The parts of a response. */
export interface ResponseParts {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | null;
}

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

/** Converts the result of a call. Throws `EXECUTION_ERROR` if the data cannot be sent. */
export function toResult(
  envelope: ResponseEnvelope,
  wantsEnvelope: boolean,
  operationId: string,
  requestId: string,
): ResponseParts {
  if (wantsEnvelope) {
    return { status: 200, headers: callHeaders(envelopeType, operationId, requestId), body: formatEnvelope(envelope) };
  }
  const { data, meta } = envelope;
  const headers = callHeaders("application/json", operationId, requestId);
  const driftTotal = meta.driftTotal ?? meta.drift?.length;
  if (driftTotal !== undefined) headers["drift-total"] = String(driftTotal);
  if (typeof data === "object" && data !== null) {
    const bytes = readBytes(data);
    if (bytes !== undefined) {
      headers["content-type"] = (meta.source === "http" && toMediaType(meta.contentType)) || "application/octet-stream";
      headers["content-disposition"] = "attachment";
      return { status: 200, headers, body: bytes };
    }
  }
  const body = toJSONText(data);
  if (body !== undefined) return { status: 200, headers, body };
  delete headers["content-type"];
  return { status: 204, headers, body: null };
}

/** Returns the media type of an imported API, without parameters; `undefined` if it is malformed. */
function toMediaType(contentType: string): string | undefined {
  return /^[\w.+-]+\/[\w.+-]+/.exec(contentType)?.[0];
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

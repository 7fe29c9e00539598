import { toBase64 } from "../../internal/base64.ts";
import { truncate } from "../../internal/text.ts";
import {
  type CallError,
  mapError,
  type ResponseEnvelope,
  type ResponseMeta,
  requestedDelay,
  toData,
} from "../../operation/inside.ts";
import { envelopeType, problemType, readBytes, statusTexts, toJSONText } from "../../transport/http-form.ts";
import { holdBytes } from "../byte-budget.ts";
import type { Exchange } from "../exchange.ts";
import { statusOf, toPublicError, toPublicMeta } from "../outcome.ts";
import { HTTPError } from "../refusals.ts";
import type { CallRequest, ReadState } from "./read-request.ts";
import type { HTTPServer } from "./server.ts";

/** Headers that web pages of allowed origins may read. */
export const exposedHeaders: readonly string[] = ["operation-id", "request-id", "drift-total", "retry-after"];

/** Size of a result, in bytes, from which it counts in the budget. The number of connections limits smaller ones. */
export const minCountedBytes = 64 * 1024;

/** Returns the headers of a response to a call. A literal, because creating it is a large part of the cost of a response. */
export function callHeaders(contentType: string, { route, requestId, caller }: ReadState): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": contentType,
    "request-id": requestId,
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    "cache-control": "no-store",
  };
  if (route !== undefined) headers["operation-id"] = route.headerId;
  return caller?.headers === undefined ? headers : Object.assign(headers, caller.headers);
}

/** Writes the result of a call. Throws if JSON cannot carry it, or if it is too large. */
export function writeResult(exchange: Exchange, request: CallRequest, envelope: ResponseEnvelope): void {
  const headers = callHeaders(request.wantsEnvelope ? envelopeType : "application/json", request);
  let body: string | Uint8Array | undefined;
  if (request.wantsEnvelope) {
    body = formatEnvelope(envelope);
  } else {
    const data = toData(envelope);
    const { meta } = envelope;
    const driftTotal = meta.driftTotal ?? meta.drift?.length;
    if (driftTotal !== undefined) headers["drift-total"] = String(driftTotal);
    const bytes = readBytes(data);
    if (bytes !== undefined) {
      Object.assign(headers, { "content-type": mediaTypeOf(meta), "content-disposition": "attachment" });
    }
    body = bytes ?? toJSONText(data);
  }
  if (body === undefined) delete headers["content-type"];
  else if (body.length >= minCountedBytes) exchange.onClose(holdBytes(request.caller.owner, body.length));
  exchange.reply(body === undefined ? 204 : 200, headers, body);
}

/** Writes the response to an error that was thrown before, during or after the call. */
export function writeProblem(server: HTTPServer, exchange: Exchange, state: ReadState, thrown: unknown): void {
  const refusal = thrown instanceof HTTPError ? thrown : undefined;
  const error = refusal?.error ?? mapError(thrown);
  const status = refusal?.status ?? problemStatus(server, state, error);
  const headers = { ...callHeaders(problemType, state), ...refusal?.headers };
  if (status === 401) headers["www-authenticate"] ??= server.gate.challenge();
  if (status === 405) headers["allow"] ??= `${state.route!.method}, OPTIONS`;
  if (status === 429) headers["retry-after"] = retryAfter(error);
  exchange.reply(status, headers, formatProblem(server, state, error, status));
}

/** Formats an error as problem details (RFC 9457). */
export function formatProblem(
  server: HTTPServer,
  state: ReadState,
  error: CallError,
  status = problemStatus(server, state, error),
): string {
  const { requestId, route } = state;
  const { id = "", handler } = route?.operation ?? {};
  const { exposeErrors = false } = server.options;
  const sent = toPublicError(error, { operationId: id, requestId, handler, exposeErrors });
  const { code, message, details, retryable, mayHaveRun } = sent.toJSON();
  const title = statusTexts[status] ?? truncate(code, 100);
  return JSON.stringify({ title, status, detail: message, code, details, retryable, mayHaveRun, requestId });
}

/** Formats an envelope as JSON. Bytes at the root of the data become base64, which `encoding` marks. */
export function formatEnvelope({ data, meta }: ResponseEnvelope): string {
  const metaText = JSON.stringify(toPublicMeta(meta));
  const bytes = readBytes(data);
  if (bytes !== undefined) return `{"data":"${toBase64(bytes)}","encoding":"base64","meta":${metaText}}`;
  const text = toJSONText(data);
  return text === undefined ? `{"meta":${metaText}}` : `{"data":${text},"meta":${metaText}}`;
}

function problemStatus({ run }: HTTPServer, { route, caller }: ReadState, error: CallError): number {
  if (error.code === "ABORTED" && run.isClosed) return 503;
  return statusOf(error, route?.operation.spec, caller?.identity !== undefined);
}

/** Returns the media type of bytes: that of an imported API, without parameters, if it is well-formed. */
function mediaTypeOf(meta: ResponseMeta): string {
  const sent = meta.source === "http" ? /^[\w.+-]+\/[\w.+-]+/.exec(meta.contentType)?.[0] : undefined;
  return sent ?? "application/octet-stream";
}

/** Returns the time after which a client may try again, in seconds. */
function retryAfter(error: CallError): string {
  const seconds = Math.ceil(requestedDelay(error) / 1_000);
  return seconds > 0 && Number.isSafeInteger(seconds) ? String(seconds) : "1";
}

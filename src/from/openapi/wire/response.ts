import type { Bytes } from "../../../internal/base64.ts";
import { isObject } from "../../../internal/objects.ts";
import { redact } from "../../../internal/secrets.ts";
import { truncate } from "../../../internal/text.ts";
import { CallError, type HTTPResponseMeta, httpEnvelope, type ResponseEnvelope } from "../../../operation/index.ts";
import { BodyTooLarge, readBody } from "../../../transport/http-body.ts";
import { statusTexts } from "../../../transport/http-form.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { badResponse, tooLarge } from "../errors.ts";
import { parseForeign, TooDeep } from "./json.ts";
import { charsetOf, isJSON, isText } from "./media-type.ts";
import type { WireRequest } from "./request.ts";

/** Reads the responses of one endpoint. */
export interface ResponseReader {
  /** Reads a whole successful response. */
  read(response: Response, request: WireRequest): Promise<ResponseEnvelope>;
  /** Creates the error for a response with an error status, or for a redirect that is not followed. */
  fail(response: Response, request: WireRequest, problem?: string): Promise<CallError>;
}

const maxErrorBytes = 1024 * 1024;

/** Compiles how responses of an endpoint are read. */
export function compileResponse(
  plan: EndpointPlan,
  limits: { responseBytes: number; jsonDepth: number },
): ResponseReader {
  const { operationId, declaresJSON } = plan;

  async function read(response: Response, request: WireRequest): Promise<ResponseEnvelope> {
    const meta = toMeta(response, request.secrets);
    let bytes: Bytes;
    try {
      bytes = await readBody(response, limits.responseBytes);
    } catch (error) {
      if (error instanceof BodyTooLarge) throw tooLarge(operationId, "response", limits.responseBytes);
      throw error;
    }
    return httpEnvelope(toData(bytes, meta, request), meta);
  }

  function toData(bytes: Bytes, { contentType, statusCode }: HTTPFacts, request: WireRequest): unknown {
    if (bytes.byteLength === 0) return undefined;
    if (isJSON(contentType)) return parseBody(decodeOrRefuse(bytes, contentType), statusCode, request);
    if (isText(contentType)) return decodeOrRefuse(bytes, contentType);
    const text = contentType === "" && declaresJSON ? decode(bytes, "") : undefined;
    return text === undefined ? toArrayBuffer(bytes) : parse(text, () => text);
  }

  /** Decodes bytes. Throws for invalid bytes, because replacing them would silently change the data. */
  function decodeOrRefuse(bytes: Bytes, contentType: string): string {
    const text = decode(bytes, contentType);
    if (text === undefined) throw badResponse(operationId, `is not valid ${charsetName(contentType)}`);
    return text;
  }

  function parseBody(text: string, status: number, request: WireRequest): unknown {
    return parse(text, () => {
      const excerpt = truncate(redact(text, request.secrets), 200);
      const problem = `(HTTP ${status}) is not valid JSON, although its content type declares JSON`;
      throw badResponse(operationId, problem, { status, excerpt });
    });
  }

  function parse(text: string, orElse: () => unknown): unknown {
    try {
      return parseForeign(text, limits.jsonDepth);
    } catch (error) {
      if (!(error instanceof TooDeep)) return orElse();
      throw badResponse(operationId, `is nested more than ${limits.jsonDepth} levels deep`);
    }
  }

  async function fail(response: Response, request: WireRequest, problem?: string): Promise<CallError> {
    const { status } = response;
    const { headers, contentType } = toMeta(response, request.secrets);
    const body = await readErrorBody(response, contentType, request);
    const details: Record<string, unknown> = { status, headers, contentType, body };
    if (problem !== undefined) details["location"] = headers["location"];
    const message = `HTTP ${status}: ${problem ?? redact(reasonOf(response), request.secrets)}`;
    const error = new CallError(codeOf(status), message, details, {
      retryable: retryable.has(status),
      mayHaveRun: !notStarted.has(status),
    });
    if (status === 401) markUnauthorized(error);
    return error;
  }

  /** Reads the body of an error. A body that is too large, malformed or incomplete does not replace the error. */
  async function readErrorBody(response: Response, contentType: string, request: WireRequest): Promise<unknown> {
    let bytes: Bytes;
    try {
      bytes = await readBody(response, Math.min(maxErrorBytes, limits.responseBytes));
    } catch {
      return undefined;
    }
    if (bytes.byteLength === 0) return undefined;
    if (!isJSON(contentType) && !isText(contentType) && contentType !== "") return toArrayBuffer(bytes);
    const text = decode(bytes, contentType) ?? lenient.decode(bytes);
    return redactDeep(isJSON(contentType) ? parseOrKeep(text) : text, request.secrets);
  }

  function parseOrKeep(text: string): unknown {
    try {
      return parseForeign(text, limits.jsonDepth);
    } catch {
      return text;
    }
  }

  function codeOf(status: number): string {
    const declared =
      plan.errorCodes.get(String(status)) ??
      plan.errorCodes.get(`${Math.floor(status / 100)}XX`) ??
      (status >= 400 ? plan.errorCodes.get("default") : undefined);
    return declared ?? (status === 401 || status === 403 ? "UPSTREAM_DENIED" : "EXECUTION_ERROR");
  }

  return { read, fail };
}

const unauthorized = new WeakSet<CallError>();

/** Marks the error of a response with the status 401, after which a new token may be requested. */
export function markUnauthorized(error: CallError): void {
  unauthorized.add(error);
}

/** Returns whether an error was marked with {@link markUnauthorized}. */
export function isUnauthorized(error: CallError): boolean {
  return unauthorized.has(error);
}

/** Status and headers of a response. */
export type HTTPFacts = Omit<HTTPResponseMeta, "source">;

/** Reads status and headers, and removes credentials that some servers repeat in links. */
export function toMeta(response: Response, secrets: readonly string[]): HTTPFacts {
  const headers: Record<string, string> = {};
  let setCookie: string[] | undefined;
  for (const [name, received] of response.headers) {
    const value = secrets.length === 0 ? received : redact(received, secrets);
    if (name !== "set-cookie") {
      headers[name] = value;
      continue;
    }
    // The platform returns each cookie separately. Envelopes have one string per name.
    setCookie ??= [];
    setCookie.push(value);
    headers[name] = setCookie.join(", ");
  }
  const meta: HTTPFacts = { statusCode: response.status, headers, contentType: headers["content-type"] ?? "" };
  if (setCookie !== undefined) meta.setCookie = setCookie;
  return meta;
}

/** Statuses after which the same request may succeed. */
const retryable: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);
/** Statuses of requests that were not processed. Any other request may have had an effect. */
const notStarted: ReadonlySet<number> = new Set([
  401, 403, 405, 407, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431, 501, 505,
]);

const utf8 = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder();

/** Decodes bytes. Returns `undefined` if they are invalid in their charset. */
function decode(bytes: Bytes, contentType: string): string | undefined {
  try {
    return decoderFor(contentType).decode(bytes);
  } catch {
    return undefined;
  }
}

function decoderFor(contentType: string): TextDecoder {
  const charset = contentType.includes(";") ? charsetOf(contentType) : undefined;
  if (charset === undefined || /^utf-?8$/i.test(charset)) return utf8;
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return utf8; // The charset is unknown, and most content is ASCII.
  }
}

function charsetName(contentType: string): string {
  return decoderFor(contentType).encoding.toUpperCase();
}

function toArrayBuffer(bytes: Bytes): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes;
  return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
}

/** Returns the reason phrase. HTTP/2 does not send one. */
function reasonOf({ status, statusText }: Response): string {
  const phrase = statusText.replace(/[^\x20-\x7e]/g, "").slice(0, 100);
  return phrase === "" ? (statusTexts[status] ?? "no reason phrase") : phrase;
}

/** Redacts every string in a JSON value, names of properties included. */
function redactDeep(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === "string") return redact(value, secrets);
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, secrets));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key, secrets), redactDeep(member, secrets)]),
  );
}

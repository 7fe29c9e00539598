import { fromBase64 } from "../../../internal/base64.ts";
import { getOwn, isObject, type JSONObject } from "../../../internal/objects.ts";
import {
  CallError,
  type CallErrorJSON,
  type HTTPResponseMeta,
  httpEnvelope,
  isResponseEnvelope,
  type ResponseEnvelope,
} from "../../../operation/index.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { badResponse } from "../errors.ts";
import { compileResponse, type HTTPFacts, markUnauthorized, type ResponseReader } from "./response.ts";

/** Media type of the envelopes that a server of this package sends. */
export const envelopeType = "application/vnd.alkdev.envelope+json";

const problemType = "application/problem+json";

/** The levels of JSON that an envelope or a problem adds to the data or details. */
export const envelopeLevels = 2;

/** Compiles how the responses of a server of this package are read: envelopes and problem details. */
export function compileOperationResponse(
  plan: EndpointPlan,
  limits: { responseBytes: number; jsonDepth: number },
): ResponseReader {
  const reader = compileResponse(plan, { ...limits, jsonDepth: limits.jsonDepth + envelopeLevels });
  return {
    async read(response, request) {
      const { data, meta } = await reader.read(response, request);
      return restoreEnvelope(plan.operationId, data, meta as HTTPResponseMeta);
    },
    async fail(response, request, problem) {
      const error = await reader.fail(response, request, problem);
      const { contentType, body } = error.details as { contentType: string; body: unknown };
      const original = contentType.startsWith(problemType) ? toCallError(body) : undefined;
      if (original === undefined) return error;
      if (response.status === 401) markUnauthorized(original);
      return original;
    },
  };
}

/**
 * Returns the result of an operation that was received as an envelope: its data, with the meta of the response. The
 * result of an MCP tool keeps its own meta, which may report an error of the tool.
 */
export function restoreEnvelope(operationId: string, envelope: unknown, facts: HTTPFacts): ResponseEnvelope {
  const restored = isObject(envelope) ? { data: toData(envelope), meta: envelope["meta"] } : undefined;
  if (restored?.data === malformed || !isResponseEnvelope(restored)) {
    const problem =
      "is not an envelope. Check that the server is a server of this package, or import it without `trust`";
    throw badResponse(operationId, problem);
  }
  const { data, meta } = restored;
  if (meta.source === "mcp") return restored;
  const { drift, driftTotal } = meta;
  return httpEnvelope(data, { ...facts, ...(drift && { drift }), ...(driftTotal !== undefined && { driftTotal }) });
}

const malformed: unique symbol = Symbol("malformed data");

/** Returns the data of an envelope. Bytes are sent as base64. */
function toData({ data, encoding }: JSONObject): unknown {
  if (encoding === undefined) return data;
  return (encoding === "base64" && typeof data === "string" && fromBase64(data)) || malformed;
}

/** Returns the error that problem details describe; `undefined` if they have no code and another program sent them. */
export function toCallError(problem: unknown): CallError | undefined {
  if (typeof getOwn(problem, "code") !== "string") return undefined;
  const { detail: message, ...rest } = problem as JSONObject;
  return CallError.fromJSON({ ...rest, message } as unknown as CallErrorJSON);
}

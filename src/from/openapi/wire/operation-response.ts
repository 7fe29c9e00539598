import {
  type HTTPResponseMeta,
  httpEnvelope,
  isResponseEnvelope,
  type ResponseEnvelope,
} from "../../../operation/inside.ts";
import { envelopeLevels, problemType, readEnvelope, readProblem } from "../../../transport/http-form.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { badResponse } from "../errors.ts";
import { compileResponse, type HTTPFacts, markUnauthorized, type ResponseReader } from "./response.ts";

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
      const original = contentType.startsWith(problemType) ? readProblem(body) : undefined;
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
  const restored = readEnvelope(envelope);
  if (!isResponseEnvelope(restored)) {
    const problem =
      "is not an envelope. Check that the server is a server of this package, or import it without `trust`";
    throw badResponse(operationId, problem);
  }
  const { data, meta } = restored;
  if (meta.source === "mcp") return restored;
  const { drift, driftTotal } = meta;
  return httpEnvelope(data, { ...facts, ...(drift && { drift }), ...(driftTotal !== undefined && { driftTotal }) });
}

import { findNotJSON } from "../../internal/instances.ts";
import { logger } from "../../internal/log.ts";
import { isObject } from "../../internal/objects.ts";
import { markToolHandler, type OperationContext, type OperationHandler, type Progress } from "../../operation/index.ts";
import { isInvalidParams, notJSON, toCallError, toolNotFound } from "./call-errors.ts";
import type { MCPProgress, MCPRequestOptions, MCPTool } from "./connection/index.ts";
import { type ResultRules, toMCPEnvelope } from "./result.ts";
import type { ToolHost } from "./tool-operation.ts";

const log = logger("from", "mcp");

/**
 * Creates the handler of one tool. Results become envelopes, including those with `isError`. Failures throw a
 * `CallError`.
 */
export function createToolHandler(
  tool: MCPTool,
  host: ToolHost,
  output: Pick<ResultRules, "outputSchema" | "isWrapped">,
): OperationHandler {
  const name = tool["name"] as string;
  const { connection } = host;
  const operationId = `${host.namespace}.${name}`;
  const rules: ResultRules = { operationId, ...output };

  const explain = async (error: unknown): Promise<never> => {
    // The same code means an unknown tool or invalid arguments. The list of tools shows which one it is.
    if (isInvalidParams(error) && !(await host.hasTool(name))) throw toolNotFound(operationId, error);
    throw toCallError(error, operationId);
  };

  return markToolHandler(async (input: unknown, context: OperationContext) => {
    const dropped = findNotJSON(input);
    if (dropped !== undefined) throw notJSON(operationId, dropped);
    const params = { name, arguments: isObject(input) ? input : {} };
    const options = { tool, ...toRequestOptions(context, operationId) };
    const result = await connection.callTool(params, options).catch(explain);
    return toMCPEnvelope(result, rules);
  });
}

/** Passes the limits of a call to the server, and the server's progress to the caller. */
export function toRequestOptions(context: OperationContext, operationId: string): MCPRequestOptions {
  return {
    // Skip a signal that cannot fire: creating and observing one costs time.
    signal: context.abortable === false ? undefined : context.signal,
    timeout: context.deadline === undefined ? undefined : Math.max(context.deadline - Date.now(), 1),
    onprogress: (progress) => {
      log.debug("{operationId}: {progress} of {total} {message}", { operationId, ...progress });
      context.progress?.(toProgress(progress));
    },
  };
}

function toProgress({ progress, total, message }: MCPProgress): Progress {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}

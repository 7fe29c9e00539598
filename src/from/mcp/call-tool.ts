import { findNotJSON } from "../../internal/instances.ts";
import { markToolHandler, type OperationContext, type OperationHandler, type Progress } from "../../operation/index.ts";
import { isInvalidParams, notJSON, toCallError, toolGone } from "./call-errors.ts";
import type { MCPProgress, MCPRequestOptions, RawTool } from "./connection/index.ts";
import { log } from "./report.ts";
import { type ResultRules, toMCPEnvelope } from "./result.ts";
import type { ToolHost } from "./tool-operation.ts";
import { isObject } from "./values.ts";

/** Makes the code of one tool. What the server answers comes back as it is; what goes wrong is a `CallError`. */
export function createToolHandler(
  tool: RawTool,
  host: ToolHost,
  output: Pick<ResultRules, "outputSchema" | "isWrapped">,
): OperationHandler {
  const name = tool["name"] as string;
  const { connection } = host;
  const operationId = `${host.namespace}.${name}`;
  const rules: ResultRules = { operationId, ...output };

  const explain = async (error: unknown): Promise<never> => {
    // One code stands for both an unknown tool and wrong arguments; the list tells them apart.
    if (isInvalidParams(error) && !(await host.hasTool(name))) throw toolGone(operationId, error);
    throw toCallError(error, operationId);
  };

  return markToolHandler(async (input: unknown, context: OperationContext) => {
    const lost = findNotJSON(input);
    if (lost !== undefined) throw notJSON(operationId, lost);
    const params = { name, arguments: isObject(input) ? input : {} };
    const options = { tool, ...toRequestOptions(context, operationId) };
    const result = await connection.callTool(params, options).catch(explain);
    return toMCPEnvelope(result, rules);
  });
}

/** Passes on what limits a call, and who hears how far it is. */
export function toRequestOptions(context: OperationContext, operationId: string): MCPRequestOptions {
  return {
    // A signal that cannot fire is spared: making and watching one costs.
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

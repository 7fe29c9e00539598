import { logger } from "../../internal/log.ts";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import {
  markToolHandler,
  type OperationContext,
  type OperationHandler,
  type Progress,
} from "../../operation/inside.ts";
import { findUnsendable } from "../../transport/unsendable.ts";
import { isInvalidParams, notJSON, toCallError, toolNotFound } from "./call-errors.ts";
import type { MCPProgress, MCPRequestOptions, MCPTool, MCPToolResult } from "./connection/index.ts";
import { type ResultRules, toMCPEnvelope } from "./result.ts";
import type { ToolHost } from "./tool-operation.ts";
import { restoreEnvelope, restoreRefusal, toArguments } from "./trusted-server.ts";

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
  const operationId = `${host.namespace}.${tool["name"]}`;
  const call = createCaller(tool, host, operationId);
  const rules: ResultRules = { operationId, ...output };
  return markToolHandler(async (input: unknown, context: OperationContext) =>
    toMCPEnvelope(await call(isObject(input) ? input : {}, context), rules),
  );
}

/** Creates the handler of an operation that a trusted server publishes as a tool. Throws the errors of the operation. */
export function createTrustedHandler(
  tool: MCPTool,
  host: ToolHost,
  operationId: string,
  inputSchema: unknown,
): OperationHandler {
  const call = createCaller(tool, host, operationId);
  return markToolHandler(async (input: unknown, context: OperationContext) => {
    const result = await call(toArguments(input, inputSchema), context).catch((error) => {
      throw restoreRefusal(error);
    });
    return restoreEnvelope(result, operationId);
  });
}

type CallTool = (given: JSONObject, context: OperationContext) => Promise<MCPToolResult>;

function createCaller(tool: MCPTool, host: ToolHost, operationId: string): CallTool {
  const name = tool["name"] as string;
  const { connection } = host;

  const explain = async (error: unknown): Promise<never> => {
    // The same code means an unknown tool or invalid arguments. The list of tools shows which one it is.
    if (isInvalidParams(error) && !(await host.hasTool(name))) throw toolNotFound(operationId, error);
    throw toCallError(error, operationId);
  };

  return (given, context) => {
    const found = findUnsendable(given);
    if (found !== undefined) throw notJSON(operationId, found);
    const options = { tool, ...toRequestOptions(context, operationId) };
    return connection.callTool({ name, arguments: given }, options).catch(explain);
  };
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

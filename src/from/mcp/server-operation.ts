import type { TSchema } from "typebox";
import {
  CallError,
  type MCPContentBlock,
  mcpEnvelope,
  type OperationContext,
  OperationType,
} from "../../operation/index.ts";
import { toCallError } from "./call-errors.ts";
import { toRequestOptions } from "./call-tool.ts";
import { inputRequired } from "./input-required.ts";
import { type MCPOperation, type ToolHost, versionOf } from "./tool-operation.ts";
import { isObject, type JSONObject, textOf } from "./values.ts";

/** One request of the protocol, other than calling a tool, that is offered as an operation. */
export interface ServerRequest {
  readonly name: string;
  readonly method: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: TSchema;
  readonly outputSchema: TSchema;
  /** The property of the result that must be a list. */
  readonly list: string;
  /** Properties of the result that are part of the data beside the list. */
  readonly also: readonly string[];
  /** What the items say, as blocks. @default nothing */
  readonly toContent?: (items: readonly unknown[]) => MCPContentBlock[];
}

/** Makes an operation that sends a request to the server. It reads and changes nothing. */
export function toServerOperation(request: ServerRequest, { namespace, connection, config }: ToolHost): MCPOperation {
  const { name, method, title, description, inputSchema, outputSchema } = request;
  const operationId = `${namespace}.${name}`;
  return {
    namespace,
    name,
    version: versionOf(connection.state),
    type: OperationType.QUERY,
    title,
    description,
    inputSchema,
    outputSchema,
    accessControl: config.accessControl ?? { requiredScopes: [] },
    idempotent: true,
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    _meta: { mcp: { server: { name: connection.name }, method } },
    fillDefaults: false,
    handler: async (input: unknown, context: OperationContext) => {
      const params = isObject(input) ? input : {};
      const options = toRequestOptions(context, operationId);
      const result = await connection.request(method, params, options).catch((error: unknown) => {
        throw toCallError(error, operationId);
      });
      return toEnvelope(result, request, operationId);
    },
    ...(request.also.includes("nextCursor") && { nextPage }),
  };
}

function toEnvelope(result: unknown, { list, also, toContent }: ServerRequest, operationId: string) {
  if (isObject(result) && result["resultType"] === "input_required") throw inputRequired(operationId);
  if (!isObject(result) || !Array.isArray(result[list])) {
    throw new CallError("BAD_RESPONSE", `"${operationId}" got an answer without ${list}.`, { operationId });
  }
  const data: JSONObject = { [list]: result[list] };
  for (const key of also) if (result[key] !== undefined) data[key] = result[key];
  const content = toContent?.(result[list]) ?? [];
  return mcpEnvelope(data, { isError: false, content, ...(isObject(result["_meta"]) && { _meta: result["_meta"] }) });
}

const nextPage: MCPOperation["nextPage"] = (input, { data }) => {
  const cursor = isObject(data) ? textOf(data["nextCursor"]) : undefined;
  return cursor === undefined ? undefined : { ...input, cursor };
};

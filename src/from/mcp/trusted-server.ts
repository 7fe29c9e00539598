import { fromBase64 } from "../../internal/base64.ts";
import { readPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import {
  CallError,
  type CallErrorJSON,
  isCallError,
  type MCPContentBlock,
  mcpEnvelope,
  type ResponseEnvelope,
} from "../../operation/inside.ts";
import { describesObject, mcpMetaKey } from "../../transport/mcp-form.ts";
import { bodyOf, type MCPTool, type MCPToolResult, readRPCError } from "./connection/index.ts";
import { mapMCPContentBlocks } from "./content.ts";

// The counterpart of `serve/mcp`, which publishes the spec of an operation with its tool and the error with the result.

/** Returns the spec that a server of this package publishes with a tool; `undefined` for any other tool. */
export function readPublishedSpec(tool: MCPTool): JSONObject | undefined {
  const spec = getOwn(getOwn(tool["_meta"], mcpMetaKey), "operation");
  if (!isObject(spec)) return undefined;
  const { title, description } = tool;
  return {
    ...(title !== undefined && { title }),
    description,
    ...spec,
    inputSchema: resolveSchema(spec["inputSchema"], tool),
    outputSchema: resolveSchema(spec["outputSchema"], tool),
  };
}

/** Returns the part of the tool to which a schema refers, if it is the same schema. */
function resolveSchema(schema: unknown, tool: MCPTool): unknown {
  if (!isObject(schema) || Object.keys(schema).length !== 1) return schema;
  const { $ref } = schema;
  const isPart = typeof $ref === "string" && /^#\/(?:inputSchema|outputSchema)(?:\/|$)/.test($ref);
  return isPart ? readPointer(tool, $ref.slice(1)) : schema;
}

/** Returns the arguments for an input. An input that is not an object is the argument `input`. */
export function toArguments(input: unknown, inputSchema: unknown): JSONObject {
  if (describesObject(inputSchema)) return isObject(input) ? input : {};
  return input === undefined ? {} : { input };
}

/** Converts the result of an operation. Throws the error with which the operation failed. */
export function restoreEnvelope(result: MCPToolResult, operationId: string): ResponseEnvelope {
  const published = getOwn(result._meta, mcpMetaKey);
  const error = getOwn(published, "error");
  if (error !== undefined) throw CallError.fromJSON(error as CallErrorJSON);
  const isMismatch = getOwn(published, "isMismatch") === true;
  const moved = getOwn(published, "structuredContent");
  const structuredContent = moved === undefined ? result.structuredContent : moved;
  const blocks = mapMCPContentBlocks(result.content);
  const content = isMismatch ? blocks.slice(0, -1) : blocks;
  const data = restoreData(content, structuredContent, published, operationId);
  return mcpEnvelope(data, {
    isError: result.isError === true && !isMismatch,
    content,
    ...(structuredContent !== undefined && { structuredContent }),
  });
}

/**
 * Restores the error of a request that a server of this package refused, such as a call without the required
 * credentials. Returns any other error unchanged.
 */
export function restoreRefusal(error: unknown): unknown {
  const cause = isCallError(error) ? error.cause : undefined;
  const data = readRPCError(bodyOf(cause))?.data ?? getOwn(cause, "data");
  const refusal = getOwn(getOwn(data, mcpMetaKey), "error");
  return refusal === undefined ? error : CallError.fromJSON(refusal as CallErrorJSON);
}

function restoreData(
  content: MCPContentBlock[],
  structuredContent: unknown,
  published: unknown,
  operationId: string,
): unknown {
  if (getOwn(published, "isUndefined") === true) return undefined;
  const bytes = getOwn(published, "bytes");
  if (bytes !== undefined) return restoreBytes(content[0], bytes === "ArrayBuffer", operationId);
  if (structuredContent === undefined) return content;
  return getOwn(published, "isWrapped") === true ? getOwn(structuredContent, "result") : structuredContent;
}

function restoreBytes(block: MCPContentBlock | undefined, isBuffer: boolean, operationId: string): unknown {
  const base64 = block?.type === "resource" ? block.resource.blob : getOwn(block, "data");
  const bytes = typeof base64 === "string" ? fromBase64(base64) : undefined;
  if (bytes === undefined) throw new CallError("BAD_RESPONSE", `"${operationId}" returned bytes that are not base64.`);
  return isBuffer ? bytes.buffer : bytes;
}

import { fromBase64 } from "../../internal/base64.ts";
import { readPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import {
  CallError,
  type MCPContentBlock,
  mcpEnvelope,
  mcpMetaKey,
  type ResponseEnvelope,
} from "../../operation/index.ts";
import type { MCPTool, MCPToolResult } from "./connection/index.ts";
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
  if (getOwn(inputSchema, "type") === "object") return isObject(input) ? input : {};
  return input === undefined ? {} : { input };
}

/** Converts the result of an operation. Throws the error with which the operation failed. */
export function restoreEnvelope(result: MCPToolResult, operationId: string): ResponseEnvelope {
  const published = getOwn(result._meta, mcpMetaKey);
  const error = getOwn(published, "error");
  if (isObject(error)) throw restoreError(error);
  const { structuredContent } = result;
  const content = mapMCPContentBlocks(result.content);
  const data = restoreData(content, structuredContent, published, operationId);
  return mcpEnvelope(data, {
    isError: result.isError === true,
    content,
    ...(structuredContent !== undefined && { structuredContent }),
  });
}

function restoreError({ code, message, details, retryable, mayHaveRun }: JSONObject): CallError {
  const options = { retryable: retryable === true, mayHaveRun: mayHaveRun !== false };
  return new CallError(String(code), String(message), details, options);
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

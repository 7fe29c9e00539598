import { toBase64 } from "../../internal/base64.ts";
import { isDataObject, type JSONObject } from "../../internal/objects.ts";
import {
  type CallErrorJSON,
  type MCPContentBlock,
  type MCPResponseMeta,
  type MCPResultMeta,
  mcpMetaKey,
  type ResponseEnvelope,
} from "../../operation/index.ts";
import { readBytes, toJSONText } from "../outcome.ts";
import { type ProtocolEra, type ServedTool, wrapResult } from "./tool.ts";

/** The result of `tools/call`. A type and not an interface, as the SDK requires. */
export type ToolResult = {
  content: MCPContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: JSONObject;
};

/**
 * Converts the envelope of a call into the result of its tool. Throws `EXECUTION_ERROR` for data that JSON cannot carry,
 * with its path.
 */
export function toToolResult(envelope: ResponseEnvelope, tool: ServedTool, era: ProtocolEra): ToolResult {
  const { data, meta } = envelope;
  if (meta.source === "mcp") return fromToolResult(data, meta, tool, era);
  const bytes = readBytes(data);
  if (bytes !== undefined) return toBytesResult(bytes, data instanceof ArrayBuffer, envelope, tool);
  const text = toJSONText(data);
  if (text === undefined) return { content: [], _meta: toMeta({ isUndefined: true }) };
  const structured = toStructured(data, text, tool.isOutputWrapped(era), era);
  return { content: [{ type: "text", text: typeof data === "string" ? data : text }], ...structured };
}

/** Converts data that the server itself created, as an object. */
export function toDataResult(data: JSONObject): ToolResult {
  return { content: [{ type: "text", text: toJSONText(data)! }], structuredContent: data };
}

/**
 * Converts an error into a result. Code and details are in `_meta` and not in the structured content, which clients check
 * against the output schema. Models read only the text.
 */
export function toErrorResult(error: CallErrorJSON): ToolResult {
  const { code, message, details } = error;
  const text = details === undefined ? `${code}: ${message}` : `${code}: ${message}\n${JSON.stringify(details)}`;
  return { content: [{ type: "text", text }], isError: true, _meta: toMeta({ error }) };
}

/** Passes on the result of a tool of another MCP server, with its blocks. */
function fromToolResult(data: unknown, meta: MCPResponseMeta, tool: ServedTool, era: ProtocolEra): ToolResult {
  const { content, isError } = meta;
  if (isError) return { content, isError };
  // Without structured content, the data is the blocks themselves.
  if (data === content || data === undefined) return { content };
  return { content, ...toStructured(data, toJSONText(data)!, tool.isOutputWrapped(era), era) };
}

function toStructured(data: unknown, text: string, isDeclaredWrapped: boolean, era: ProtocolEra): Partial<ToolResult> {
  const isPlain = isDataObject(data) && !Array.isArray(data);
  // Class instances become what JSON makes of them, because the SDK refuses them.
  const value: unknown = isPlain || typeof data !== "object" ? data : JSON.parse(text);
  const isWrapped = era === "legacy" && (isDeclaredWrapped || !isDataObject(value) || Array.isArray(value));
  return isWrapped
    ? { structuredContent: wrapResult(value), _meta: toMeta({ isWrapped }) }
    : { structuredContent: value };
}

function toBytesResult(
  bytes: Uint8Array,
  isBuffer: boolean,
  { meta }: ResponseEnvelope,
  { operation }: ServedTool,
): ToolResult {
  const type = meta.source === "http" ? meta.contentType.split(";", 1)[0]!.trim() : "";
  const mimeType = type === "" ? "application/octet-stream" : type;
  const [kind] = mimeType.split("/", 1);
  const data = toBase64(bytes);
  const uri = `operation:${encodeURIComponent(operation.id)}`;
  const block: MCPContentBlock =
    kind === "image" || kind === "audio"
      ? { type: kind, data, mimeType }
      : { type: "resource", resource: { uri, mimeType, blob: data } };
  return { content: [block], _meta: toMeta({ bytes: isBuffer ? "ArrayBuffer" : "Uint8Array" }) };
}

function toMeta(meta: MCPResultMeta): JSONObject {
  return { [mcpMetaKey]: meta };
}

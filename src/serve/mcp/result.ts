import type { TSchema } from "typebox";
import { toBase64 } from "../../internal/base64.ts";
import { isDataObject, isObject, type JSONObject } from "../../internal/objects.ts";
import {
  type CallErrorJSON,
  type MCPContentBlock,
  outputInvalid,
  type ResponseEnvelope,
} from "../../operation/inside.ts";
import { compileSchema } from "../../schema/index.ts";
import { readBytes, toJSONText } from "../../transport/http-form.ts";
import { type MCPResultMeta, mcpMetaKey } from "../../transport/mcp-form.ts";
import type { ServedOperation } from "../visible.ts";
import { describeTool, isOutputWrapped, type ProtocolEra } from "./tool.ts";

/** The result of `tools/call`. A type and not an interface, as the SDK requires. */
export type ToolResult = {
  content: MCPContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: JSONObject;
};

/**
 * Converts the envelope of a call into a result. Throws `EXECUTION_ERROR` for data that JSON cannot carry, with its path.
 * @param isBlock - whether the SDK can send a block
 */
export function toToolResult(
  envelope: ResponseEnvelope,
  operation: ServedOperation,
  era: ProtocolEra,
  isBlock: (value: unknown) => boolean,
): ToolResult {
  const { data, meta } = envelope;
  if (meta.source === "mcp") {
    // A result of another MCP server keeps its blocks. Without structured content, its data is the blocks, or their copy.
    const { isError } = meta;
    const content = meta.content.map((block) => toSendable(block, isBlock));
    const text = data === meta.content ? undefined : toJSONText(data);
    const isCopy = meta.structuredContent === undefined && Array.isArray(data) && text === JSON.stringify(meta.content);
    if (text === undefined || isCopy) return { content, ...(isError && { isError }) };
    if (!isError) return { content, ...toStructured(data, text, operation, era) };
    return { content, isError, _meta: toMeta({ structuredContent: JSON.parse(text) }) }; // Some clients check that of errors too.
  }
  const bytes = readBytes(data);
  if (bytes !== undefined) return toBytesResult(bytes, envelope, operation);
  const text = toJSONText(data);
  if (text === undefined) return { content: [], _meta: toMeta({ isUndefined: true }) };
  const content: MCPContentBlock[] = [{ type: "text", text: typeof data === "string" ? data : text }];
  return { content, ...toStructured(data, text, operation, era) };
}

/**
 * Returns the result that the tool of an operation may have. Clients refuse a result without structured content, or with
 * content that does not match the output schema. Models would not see such a result, so it becomes an error with an
 * explanation. Call it only if the data may not match.
 */
export function toMatchingResult(result: ToolResult, operation: ServedOperation, era: ProtocolEra): ToolResult {
  const { outputSchema } = describeTool(operation, era);
  if (outputSchema === undefined || result.isError) return result;
  const { content, _meta } = result;
  const isMissing = result.structuredContent === undefined;
  const structuredContent = isMissing ? undefined : JSON.parse(JSON.stringify(result.structuredContent));
  const { errors, total } = compileSchema(outputSchema as TSchema).errors(structuredContent);
  if (total === 0 && !isMissing) return result;
  const { message } = outputInvalid(operation.id, total === 0 ? [{ path: "", message: "must be JSON" }] : errors);
  const text = `The operation ran, but its result does not match its output schema. ${message}`;
  const known = _meta?.[mcpMetaKey] as MCPResultMeta | undefined;
  return {
    content: [...content, { type: "text", text }],
    isError: true,
    _meta: toMeta({ ...known, isMismatch: true, ...(!isMissing && { structuredContent }) }),
  };
}

/** Converts data that the server itself created, as an object. */
export function toDataResult(data: JSONObject): ToolResult {
  return { content: [{ type: "text", text: JSON.stringify(data) }], structuredContent: data };
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

/** Returns metadata from which importers of this package restore the outcome of a call. */
export function toMeta(meta: MCPResultMeta): JSONObject {
  return { [mcpMetaKey]: meta };
}

/** The SDK refuses a whole result for one malformed block, such as an image that is not base64. */
function toSendable(block: MCPContentBlock, isBlock: (value: unknown) => boolean): MCPContentBlock {
  if (isBlock(block)) return block;
  const { annotations: _, ...plain } = { annotations: undefined, ...block };
  return isBlock(plain) ? (plain as MCPContentBlock) : { type: "text", text: JSON.stringify(block) };
}

function toStructured(data: unknown, text: string, operation: ServedOperation, era: ProtocolEra): Partial<ToolResult> {
  // Other objects become what JSON makes of them, because the SDK refuses class instances and symbols.
  const isPlain = isDataObject(data) && !Array.isArray(data) && Object.getOwnPropertySymbols(data).length === 0;
  const isJSON = typeof data !== "object" || isPlain;
  const value: unknown = isJSON ? data : JSON.parse(text);
  const isWrapped = era === "legacy" && (isOutputWrapped(operation, era) || !isObject(value));
  if (isWrapped) return { structuredContent: { result: value }, _meta: toMeta({ isWrapped }) };
  // The SDK loses a property `__proto__` here.
  const isLossy = era === "legacy" && Object.hasOwn(value as object, "__proto__");
  return { structuredContent: value, ...(isLossy && { _meta: toMeta({ structuredContent: value }) }) };
}

function toBytesResult(bytes: Uint8Array, { data, meta }: ResponseEnvelope, { id }: ServedOperation): ToolResult {
  const type = meta.source === "http" ? meta.contentType.split(";", 1)[0]!.trim() : "";
  const mimeType = type === "" ? "application/octet-stream" : type;
  const [kind] = mimeType.split("/", 1);
  const base64 = toBase64(bytes);
  const block: MCPContentBlock =
    kind === "image" || kind === "audio"
      ? { type: kind, data: base64, mimeType }
      : { type: "resource", resource: { uri: `operation:${encodeURIComponent(id)}`, mimeType, blob: base64 } };
  return { content: [block], _meta: toMeta({ bytes: data instanceof ArrayBuffer ? "ArrayBuffer" : "Uint8Array" }) };
}

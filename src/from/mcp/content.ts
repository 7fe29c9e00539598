import { toJSONSafe } from "../../internal/json-safe.ts";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import type { MCPAnnotations, MCPContentBlock, MCPResourceContent } from "../../operation/index.ts";

/**
 * Converts the content blocks of an MCP result, field by field. A block with an unknown type or without a required
 * field becomes a text block with its JSON, so that no content is lost. Never throws.
 */
export function mapMCPContentBlocks(blocks: unknown): MCPContentBlock[] {
  return Array.isArray(blocks) ? blocks.map(mapBlock) : [];
}

function mapBlock(block: unknown): MCPContentBlock {
  try {
    return readBlock(block) ?? toTextBlock(block);
  } catch {
    return toTextBlock(block); // A getter or a proxy trap failed.
  }
}

function readBlock(block: unknown): MCPContentBlock | undefined {
  if (!isObject(block)) return undefined;
  const { type } = block;
  switch (type) {
    case "text":
      return isString(block["text"]) ? withAnnotations({ type, text: block["text"] }, block) : undefined;
    case "image":
    case "audio": {
      const { data, mimeType } = block;
      return isString(data) && isString(mimeType) ? withAnnotations({ type, data, mimeType }, block) : undefined;
    }
    case "resource": {
      const resource = readResource(block["resource"]);
      return resource && withAnnotations({ type, resource }, block);
    }
    case "resource_link":
      return readLink(block);
    default:
      return undefined;
  }
}

function readResource(resource: unknown): MCPResourceContent | undefined {
  if (!isObject(resource) || !isString(resource["uri"])) return undefined;
  const { uri, mimeType, text, blob } = resource;
  if (!isString(text) && !isString(blob)) return undefined;
  return {
    uri,
    ...(isString(mimeType) && { mimeType }),
    ...(isString(text) && { text }),
    ...(isString(blob) && { blob }),
  };
}

function readLink({ uri, name, description, mimeType }: JSONObject): MCPContentBlock | undefined {
  if (!isString(uri) || !isString(name)) return undefined;
  return {
    type: "resource_link",
    uri,
    name,
    ...(isString(description) && { description }),
    ...(isString(mimeType) && { mimeType }),
  };
}

type Annotated = Exclude<MCPContentBlock, { type: "resource_link" }>;

function withAnnotations(block: Annotated, { annotations: given }: JSONObject): MCPContentBlock {
  if (!isObject(given)) return block;
  const { audience, priority, lastModified } = given;
  const annotations: MCPAnnotations = {};
  if (Array.isArray(audience)) annotations.audience = audience.filter(isRole);
  if (Number.isFinite(priority)) annotations.priority = priority as number;
  if (isString(lastModified)) annotations.lastModified = lastModified;
  block.annotations = annotations;
  return block;
}

/** Converts a block to text. `JSON.stringify` fails for cycles and for deeply nested values. */
function toTextBlock(block: unknown): MCPContentBlock {
  return { type: "text", text: tryStringify(block) ?? JSON.stringify(toJSONSafe(block)) ?? "null" };
}

function tryStringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isRole(value: unknown): value is "user" | "assistant" {
  return value === "user" || value === "assistant";
}

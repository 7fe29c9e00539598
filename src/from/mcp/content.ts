import { toJSONSafe } from "../../internal/json-safe.ts";
import type { MCPAnnotations, MCPContentBlock, MCPResourceContent } from "../../operation/index.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Turns content blocks of an MCP result into ours, field by field. A block of an unknown kind, or without what its
 * kind needs, becomes a text block that holds its JSON, so that nothing is lost. Never throws.
 */
export function mapMCPContentBlocks(blocks: unknown): MCPContentBlock[] {
  return Array.isArray(blocks) ? blocks.map(mapBlock) : [];
}

function mapBlock(block: unknown): MCPContentBlock {
  try {
    return readBlock(block) ?? asText(block);
  } catch {
    return asText(block); // a getter or a proxy trap that throws
  }
}

function readBlock(block: unknown): MCPContentBlock | undefined {
  if (!isFields(block)) return undefined;
  const { type } = block;
  switch (type) {
    case "text":
      return isText(block["text"]) ? withAnnotations({ type, text: block["text"] }, block) : undefined;
    case "image":
    case "audio": {
      const { data, mimeType } = block;
      return isText(data) && isText(mimeType) ? withAnnotations({ type, data, mimeType }, block) : undefined;
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
  if (!isFields(resource) || !isText(resource["uri"])) return undefined;
  const { uri, mimeType, text, blob } = resource;
  if (!isText(text) && !isText(blob)) return undefined;
  return {
    uri,
    ...(isText(mimeType) && { mimeType }),
    ...(isText(text) && { text }),
    ...(isText(blob) && { blob }),
  };
}

function readLink({ uri, name, description, mimeType }: Fields): MCPContentBlock | undefined {
  if (!isText(uri) || !isText(name)) return undefined;
  return {
    type: "resource_link",
    uri,
    name,
    ...(isText(description) && { description }),
    ...(isText(mimeType) && { mimeType }),
  };
}

type Annotated = Exclude<MCPContentBlock, { type: "resource_link" }>;

function withAnnotations(block: Annotated, { annotations: given }: Fields): MCPContentBlock {
  if (!isFields(given)) return block;
  const { audience, priority, lastModified } = given;
  const annotations: MCPAnnotations = {};
  if (Array.isArray(audience)) annotations.audience = audience.filter(isRole);
  if (Number.isFinite(priority)) annotations.priority = priority as number;
  if (isText(lastModified)) annotations.lastModified = lastModified;
  block.annotations = annotations;
  return block;
}

/** The block as text. JSON fails for what no wire can carry, such as cycles, and for what is nested too deeply. */
function asText(block: unknown): MCPContentBlock {
  return { type: "text", text: tryStringify(block) ?? JSON.stringify(toJSONSafe(block)) ?? "null" };
}

function tryStringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isRole(value: unknown): value is "user" | "assistant" {
  return value === "user" || value === "assistant";
}

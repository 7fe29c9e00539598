import type { TSchema } from "typebox";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import { truncate } from "../../internal/text.ts";
import { type Identity, operationNotFound } from "../../operation/index.ts";
import { validateOrThrow } from "../../schema/index.ts";
import { searchToolNames } from "../tool-name.ts";
import type { ToolCatalog } from "./catalog.ts";
import type { ServedTool, ToolDescription } from "./tool.ts";

/** Number of results of a search without a limit, and its maximum. */
const defaultResults = 10;
const maxResults = 50;
/** Maximum length of a description in a list of results, in characters. */
const maxSummaryLength = 300;

const operationProperty = {
  type: "string",
  description: `Id of the operation as ${searchToolNames.search} returns it, such as "task.create"`,
};

const resultSchema = {
  type: "object",
  properties: {
    operation: { type: "string", description: "Id of the operation" },
    type: { type: "string", enum: ["query", "mutation", "subscription"] },
    title: { type: "string" },
    description: { type: "string" },
  },
  required: ["operation", "type", "description"],
};

/** The tools that callers with many operations receive. */
export const searchTools: readonly ToolDescription[] = [
  {
    name: searchToolNames.search,
    title: "Search operations",
    description: `Finds operations by words and returns their ids, best first. Then use ${searchToolNames.describe} to read the input schema of one, and ${searchToolNames.call} to call it.`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words that describe the task. An empty string lists all operations." },
        namespace: { type: "string", description: "Finds only operations of this namespace" },
        tag: { type: "string", description: "Finds only operations with this tag" },
        limit: { type: "integer", minimum: 1, maximum: maxResults, default: defaultResults },
      },
      required: ["query"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: { operations: { type: "array", items: resultSchema } },
      required: ["operations"],
    },
    annotations: { title: "Search operations", readOnlyHint: true },
  },
  {
    name: searchToolNames.describe,
    title: "Describe an operation",
    description: `Returns the description, input schema and output schema of one operation.`,
    inputSchema: {
      type: "object",
      properties: { operation: operationProperty },
      required: ["operation"],
      additionalProperties: false,
    },
    annotations: { title: "Describe an operation", readOnlyHint: true },
  },
  {
    name: searchToolNames.call,
    title: "Call an operation",
    description: `Calls an operation and returns its result. Use ${searchToolNames.describe} first to read its input schema.`,
    inputSchema: {
      type: "object",
      properties: {
        operation: operationProperty,
        input: { description: "The input of the operation. It must match the input schema of the operation." },
      },
      required: ["operation"],
      additionalProperties: false,
    },
    annotations: { title: "Call an operation", readOnlyHint: false },
  },
];

/** Returns the operations that match a query and that the caller sees. Throws `VALIDATION_ERROR`. */
export function searchOperations(catalog: ToolCatalog, given: JSONObject, identity: Identity | undefined): JSONObject {
  validate(searchToolNames.search, given);
  const { query, namespace, tag, limit = defaultResults } = given;
  const filters = { namespace: namespace as string, tag: tag as string, limit: limit as number };
  const found = catalog.visible.search(query as string, identity, filters);
  return {
    operations: found.map(({ id, spec: { type, title, description } }) => ({
      operation: id,
      type,
      ...(title !== undefined && { title }),
      description: truncate(description, maxSummaryLength),
    })),
  };
}

/** Returns one operation that the caller sees. Throws `OPERATION_NOT_FOUND` or `VALIDATION_ERROR`. */
export function describeOne(catalog: ToolCatalog, given: JSONObject, identity: Identity | undefined): JSONObject {
  const tool = findTarget(catalog, searchToolNames.describe, given, identity);
  const { id, published } = tool.operation;
  const visible = catalog.visible.for(identity);
  if (visible.get(id) === undefined) throw operationNotFound(String(given["operation"]), visible.nearest(id));
  const { title, description, inputSchema, outputSchema } = tool.describe("modern");
  const { type, tags, idempotent, errorSchemas } = published;
  return {
    operation: id,
    tool: tool.name,
    type,
    ...(title !== undefined && { title }),
    description,
    ...(tags !== undefined && { tags }),
    ...(idempotent !== undefined && { idempotent }),
    inputSchema: tool.isInputWrapped ? published.inputSchema : inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    ...(errorSchemas !== undefined && { errors: errorSchemas }),
  };
}

/** Returns the tool and the input of a call. Throws `OPERATION_NOT_FOUND` or `VALIDATION_ERROR`. */
export function readCall(
  catalog: ToolCatalog,
  given: JSONObject,
  identity: Identity | undefined,
): { tool: ServedTool; input: unknown } {
  const tool = findTarget(catalog, searchToolNames.call, given, identity);
  const { input } = given;
  // Models omit the input, or send it as a string, when the schema of this tool cannot describe it.
  if (tool.isInputWrapped || isObject(input)) return { tool, input };
  if (input === undefined) return { tool, input: {} };
  return { tool, input: typeof input === "string" ? (parseObject(input) ?? input) : input };
}

function findTarget(catalog: ToolCatalog, name: string, given: JSONObject, identity: Identity | undefined): ServedTool {
  validate(name, given);
  const operation = given["operation"] as string;
  const tool = catalog.findOperation(operation);
  if (tool === undefined) throw operationNotFound(operation, catalog.visible.for(identity).nearest(operation));
  return tool;
}

function validate(name: string, given: JSONObject): void {
  const tool = searchTools.find((each) => each.name === name)!;
  validateOrThrow(tool.inputSchema as TSchema, given, `arguments of "${name}"`);
}

function parseObject(text: string): JSONObject | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

import type { TSchema } from "typebox";
import type { JSONObject } from "../../internal/objects.ts";
import { truncate } from "../../internal/text.ts";
import type { Identity } from "../../operation/index.ts";
import type { SearchOptions } from "../../registry/index.ts";
import { validateOrThrow } from "../../schema/index.ts";
import { toPublicSchema } from "../public-schema.ts";
import { searchToolNames } from "../tool-name.ts";
import type { ServedOperation } from "../visible.ts";
import type { ToolCatalog } from "./catalog.ts";
import { describeTool, isInputWrapped, type ToolDescription } from "./tool.ts";

/** Number of results of a search without a limit, and its maximum. */
const defaultResults = 10;
const maxResults = 50;
/** Maximum length of a description in a list of results, in characters. */
const maxSummaryLength = 300;

const { search, describe, call } = searchToolNames;

const operation = { type: "string", description: `Id of the operation from ${search}, such as "task.create"` };

/** The tools that callers with many operations receive. */
export const searchTools: readonly ToolDescription[] = [
  {
    name: search,
    title: "Search operations",
    description: `Finds operations by words and returns their ids, best first. Then use ${describe} to read the input schema of one, and ${call} to call it.`,
    inputSchema: toArguments(["query"], {
      query: { type: "string", description: "Words that describe the task. An empty string lists all operations." },
      namespace: { type: "string", description: "Finds only operations of this namespace" },
      tag: { type: "string", description: "Finds only operations with this tag" },
      limit: { type: "integer", minimum: 1, maximum: maxResults, default: defaultResults },
    }),
    annotations: { readOnlyHint: true },
  },
  {
    name: describe,
    title: "Describe an operation",
    description: "Returns the description, input schema and output schema of one operation.",
    inputSchema: toArguments(["operation"], { operation }),
    annotations: { readOnlyHint: true },
  },
  {
    name: call,
    title: "Call an operation",
    description: `Calls an operation and returns its result. Use ${describe} first to read its input schema.`,
    inputSchema: toArguments(["operation"], {
      operation,
      input: { description: "The input of the operation. It must match the input schema of the operation." },
    }),
    annotations: { readOnlyHint: false },
  },
];

function toArguments(required: string[], properties: JSONObject): JSONObject {
  return { type: "object", properties, required, additionalProperties: false };
}

/** What a search tool does: it returns data, or calls an operation. */
type SearchOutcome = { data: JSONObject } | { target: ServedOperation; input: unknown };

/**
 * Uses a search tool for a caller. Returns `undefined` if the name is that of another tool. Throws `OPERATION_NOT_FOUND` or
 * `VALIDATION_ERROR`.
 */
export function useSearchTool(
  name: string,
  given: JSONObject,
  catalog: ToolCatalog,
  identity: Identity | undefined,
): SearchOutcome | undefined {
  const tool = searchTools.find((each) => each.name === name);
  if (tool === undefined) return undefined;
  validateOrThrow(tool.inputSchema as TSchema, given, `arguments of "${name}"`);
  if (name === search) {
    const { query, ...filters } = { limit: defaultResults, ...given } as SearchOptions & { query: string };
    return { data: { operations: catalog.visible.search(query, identity, filters).map(summarize) } };
  }
  const id = given["operation"] as string;
  const target = catalog.findOperation(id);
  const seen = catalog.visible.for(identity);
  // The call of an operation that the caller does not see fails with `ACCESS_DENIED`.
  const isFound = target !== undefined && (name === call || seen.get(target.id) !== undefined);
  if (!isFound) throw catalog.visible.notFound(id, identity);
  return name === call ? { target, input: readInput(target, given) } : { data: describeOperation(target) };
}

function summarize({ id, spec: { type, title, description } }: ServedOperation): JSONObject {
  return { operation: id, type, title, description: truncate(description, maxSummaryLength) };
}

function describeOperation(operation: ServedOperation): JSONObject {
  const { id, published } = operation;
  const { name: tool, annotations: _, _meta, ...shown } = describeTool(operation, "modern");
  const { type, tags, idempotent, errorSchemas: errors } = published;
  const inputSchema = toPublicSchema(published.inputSchema);
  return { operation: id, tool, type, tags, idempotent, ...shown, inputSchema, errors };
}

/** Models omit the input, or send it as a string, when the schema of the tool cannot describe it. */
function readInput(operation: ServedOperation, { input }: JSONObject): unknown {
  if (isInputWrapped(operation)) return input;
  if (typeof input !== "string") return input === undefined ? {} : input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

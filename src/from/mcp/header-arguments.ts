import { isObject } from "../../internal/objects.ts";

const keyword = "x-mcp-header";
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const allowedTypes = new Set<unknown>(["string", "integer", "boolean"]);

/**
 * Returns why the `x-mcp-header` keywords of an input schema are invalid, or `undefined` if they are valid. An HTTP
 * client must not offer a tool with invalid keywords (MCP 2026-07-28, Streamable HTTP, "Schema Extension").
 */
export function headerProblem(inputSchema: unknown): string | undefined {
  if (!JSON.stringify(inputSchema ?? null).includes(`"${keyword}"`)) return undefined;
  const names = new Set<string>();
  const visit = (schema: unknown, isArgument: boolean): string | undefined => {
    if (Array.isArray(schema)) return first(schema, (item) => visit(item, false));
    if (!isObject(schema)) return undefined;
    const { properties, ...others } = schema;
    const problem = Object.hasOwn(schema, keyword) ? problemOf(schema, isArgument, names) : undefined;
    if (problem !== undefined) return problem;
    const isReachable = isArgument || schema === inputSchema;
    return (
      first(isObject(properties) ? Object.values(properties) : [], (child) => visit(child, isReachable)) ??
      first(Object.entries(others), ([key, child]) => (dataKeywords.has(key) ? undefined : visit(child, false)))
    );
  };
  return visit(inputSchema, false);
}

/** Keywords that contain values, not schemas. */
const dataKeywords = new Set(["const", "enum", "default", "examples", keyword]);

function problemOf(schema: Record<string, unknown>, isArgument: boolean, names: Set<string>): string | undefined {
  const name = schema[keyword];
  if (!isArgument) return `${keyword} is not on an argument.`;
  if (typeof name !== "string" || !token.test(name)) return `${keyword} is not a header name.`;
  if (!allowedTypes.has(schema["type"])) return `${keyword} requires type string, integer or boolean.`;
  if (names.has(name.toLowerCase())) return `${keyword} names one header twice.`;
  names.add(name.toLowerCase());
  return undefined;
}

function first<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

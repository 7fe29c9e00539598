import { isObject } from "../../../internal/objects.ts";
import { quote, truncate } from "../../../internal/text.ts";
import { type CallError, isCallError, limitExceeded } from "../../../operation/inside.ts";
import { boundedData } from "../call-errors.ts";
import type { MCPTool } from "./connection.ts";
import { serverError } from "./connection-errors.ts";
import type { ConnectionSettings } from "./settings.ts";

/** Requests the page after `cursor`, or the first page without a cursor. */
type RequestPage = (cursor: string | undefined) => Promise<unknown>;

/** Reads all pages of a list of tools. */
export async function readToolPages(
  { name, limits }: Pick<ConnectionSettings, "name" | "limits">,
  requestPage: RequestPage,
): Promise<MCPTool[]> {
  const tools: MCPTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < limits.pages; page++) {
    const result = await requestPage(cursor);
    if (!isObject(result) || !Array.isArray(result["tools"])) {
      throw serverError(
        name,
        "BAD_RESPONSE",
        `The MCP server ${quote(name)} returned a list of tools that is not an array.`,
      );
    }
    for (const tool of result["tools"]) tools.push(isObject(tool) ? tool : {});
    if (tools.length > limits.operations) {
      throw limitExceeded(`The MCP server ${quote(name)} has too many tools`, "operations", limits.operations);
    }
    const { nextCursor } = result;
    if (typeof nextCursor !== "string") return tools;
    cursor = nextCursor;
  }
  throw limitExceeded(`The list of tools of the MCP server ${quote(name)} does not end`, "pages", limits.pages);
}

/** Converts a failed or malformed response to `tools/list` into a `CallError`. */
export function toListError(error: unknown, name: string): CallError {
  if (isCallError(error)) return error;
  const message = truncate(error instanceof Error ? error.message : String(error), 300);
  const options = { cause: error, mayHaveRun: false };
  const { code } = error as { code?: unknown };
  if (typeof code !== "number") {
    return serverError(
      name,
      "BAD_RESPONSE",
      `The tools of the MCP server ${quote(name)} cannot be read: ${message}.`,
      options,
    );
  }
  const details = { mcp: { code, ...boundedData(error as { data?: unknown }) } };
  return serverError(
    name,
    "EXECUTION_ERROR",
    `The MCP server ${quote(name)} could not list its tools: ${message}.`,
    options,
    details,
  );
}

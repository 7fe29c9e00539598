import { canonicalJSON } from "../../internal/canonical-json.ts";
import { createGlobs } from "../../internal/globs.ts";
import { isObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { hashJSON } from "../pins.ts";
import type { ReportBuilder } from "../report.ts";
import type { MCPToolFilter } from "./config.ts";
import { type MCPTool, refusalKey } from "./connection/index.ts";
import { headerProblem } from "./header-arguments.ts";
import { type MCPOperation, type ToolHost, toToolOperation } from "./tool-operation.ts";

/** A tool of the server, and its operation. */
export interface ListedTool {
  readonly operation: MCPOperation;
  /** See {@link hashTool}. */
  readonly hash: string;
  /** JSON of all values that the operation depends on. */
  readonly text: string;
  readonly warnings: readonly string[];
}

/** Maximum size of a tool, in characters of its JSON. */
const maxToolLength = 1024 * 1024;

/**
 * Converts a server's tools into operations, by name. A tool that cannot be used is skipped and reported. Unchanged
 * tools of `before` keep their operation.
 */
export async function readTools(
  tools: readonly MCPTool[],
  host: ToolHost,
  before: ReadonlyMap<string, ListedTool>,
  report: ReportBuilder,
): Promise<Map<string, ListedTool>> {
  const listed = new Map<string, ListedTool>();
  const isIncluded = createToolFilter(host.config.tools);
  for (const [index, tool] of tools.entries()) {
    const { name } = tool;
    if (typeof name !== "string") {
      report.skipped(`tool ${index}`, "It has no name.");
    } else if (!isIncluded(name)) {
      report.skipped(describe(name), "The configuration excludes it.", { requested: true });
    } else if (listed.has(name)) {
      report.skipped(describe(name), "An earlier tool has the same name.");
    } else {
      const read = await tryRead(name, tool, host, before.get(name), report);
      if (read !== undefined) listed.set(name, read);
    }
  }
  return listed;
}

/** Creates a filter by tool name; `exclude` overrides `include`. */
export function createToolFilter({ include, exclude = [] }: MCPToolFilter = {}): (name: string) => boolean {
  const isIncluded = include === undefined ? () => true : createGlobs(include);
  const isExcluded = createGlobs(exclude);
  return (name) => isIncluded(name) && !isExcluded(name);
}

async function tryRead(
  name: string,
  tool: MCPTool,
  host: ToolHost,
  before: ListedTool | undefined,
  report: ReportBuilder,
): Promise<ListedTool | undefined> {
  try {
    const read = await readTool(tool, host, before);
    for (const warning of read.warnings) report.warn(describe(name), warning);
    return read;
  } catch (error) {
    report.skipped(describe(name), (error as Error).message);
    return undefined;
  }
}

async function readTool(tool: MCPTool, host: ToolHost, before: ListedTool | undefined): Promise<ListedTool> {
  const refusal = tool[refusalKey];
  if (typeof refusal === "string") throw new Error(refusal);
  const { server, protocol } = host.connection.state;
  const text = tryCanonical({ tool, server, protocol });
  if (text === undefined) throw new Error("It is nested too deeply, or has a cycle.");
  if (text === before?.text) return before;
  if (text.length > maxToolLength) throw new Error(`Its JSON is longer than ${maxToolLength} characters.`);
  const { execution } = tool;
  if (isObject(execution) && execution["taskSupport"] === "required") {
    throw new Error("It can only be called as a task, which is not supported.");
  }
  const problem = hasHeaders(host) ? headerProblem(tool["inputSchema"]) : undefined;
  if (problem !== undefined) throw new Error(problem);
  const warnings: string[] = [];
  const operation = toToolOperation(tool, host, (reason) => warnings.push(reason));
  return { operation, hash: await hashTool(tool), text, warnings };
}

/**
 * Returns the SHA-256 of the parts of a tool that callers and reviewers rely on: descriptions, hints and schemas, but
 * not icons, `_meta` or the server's version.
 */
function hashTool({ title, description, inputSchema, outputSchema, annotations }: MCPTool): Promise<string> {
  return hashJSON({ title, description, inputSchema, outputSchema, annotations });
}

/** Whether arguments are also sent to this server as HTTP headers. */
function hasHeaders({ config, connection }: ToolHost): boolean {
  return config.command === undefined && connection.state.protocol?.era === "modern";
}

function tryCanonical(value: unknown): string | undefined {
  try {
    return canonicalJSON(value);
  } catch {
    return undefined;
  }
}

function describe(name: string): string {
  return `tool ${quote(name)}`;
}

import { canonicalJSON } from "../../internal/canonical-json.ts";
import { quote } from "../../internal/text.ts";
import { type RawTool, refusalKey } from "./connection/index.ts";
import { fingerprint } from "./fingerprint.ts";
import { headerProblem } from "./header-arguments.ts";
import { createToolFilter } from "./names.ts";
import type { ReportBook } from "./report.ts";
import { type MCPOperation, type ToolHost, toToolOperation } from "./tool-operation.ts";
import { isObject } from "./values.ts";

/** A tool that the server has, and the operation that was made of it. */
export interface ListedTool {
  readonly operation: MCPOperation;
  /** See {@link fingerprint}. */
  readonly hash: string;
  /** Everything that the operation was made of, to tell whether it must be made anew. */
  readonly text: string;
  readonly warnings: readonly string[];
}

/** A description that takes longer to read than a book is no description. In characters of its JSON. */
const longestTool = 1024 * 1024;

/**
 * Makes operations of a server's tools, by name. One that cannot be used is left out and reported, and the others
 * stay. Tools of `before` that are still the same keep their operation.
 */
export async function readTools(
  tools: readonly RawTool[],
  host: ToolHost,
  before: ReadonlyMap<string, ListedTool>,
  book: ReportBook,
): Promise<Map<string, ListedTool>> {
  const listed = new Map<string, ListedTool>();
  const isWanted = createToolFilter(host.config.tools);
  for (const [index, tool] of tools.entries()) {
    const { name } = tool;
    if (typeof name !== "string") {
      book.skipped(`tool ${index}`, "it has no name.");
    } else if (!isWanted(name)) {
      book.skipped(describe(name), "the configuration leaves it out.", { asked: true });
    } else if (listed.has(name)) {
      book.skipped(describe(name), "an earlier tool has the same name.");
    } else {
      const read = await tryRead(name, tool, host, before.get(name), book);
      if (read !== undefined) listed.set(name, read);
    }
  }
  return listed;
}

async function tryRead(
  name: string,
  tool: RawTool,
  host: ToolHost,
  before: ListedTool | undefined,
  book: ReportBook,
): Promise<ListedTool | undefined> {
  try {
    const read = await readTool(tool, host, before);
    for (const warning of read.warnings) book.warn(describe(name), warning);
    return read;
  } catch (error) {
    book.skipped(describe(name), (error as Error).message);
    return undefined;
  }
}

async function readTool(tool: RawTool, host: ToolHost, before: ListedTool | undefined): Promise<ListedTool> {
  const refusal = tool[refusalKey];
  if (typeof refusal === "string") throw new Error(refusal);
  const { server, protocol } = host.connection.state;
  const text = tryCanonical({ tool, server, protocol });
  if (text === undefined) throw new Error("it is nested too deeply, or contains itself.");
  if (text === before?.text) return before;
  if (text.length > longestTool) throw new Error(`its description is longer than ${longestTool} characters.`);
  const { execution } = tool;
  if (isObject(execution) && execution["taskSupport"] === "required") {
    throw new Error("it can only be called as a task, which is not supported.");
  }
  const problem = hasHeaders(host) ? headerProblem(tool["inputSchema"]) : undefined;
  if (problem !== undefined) throw new Error(problem);
  const warnings: string[] = [];
  const operation = toToolOperation(tool, host, (reason) => warnings.push(reason));
  return { operation, hash: await fingerprint(tool), text, warnings };
}

/** Whether arguments of this server go into HTTP headers. */
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

import { getOwn } from "../../internal/objects.ts";
import type { Identity } from "../../operation/index.ts";
import { coreOf, type OperationRegistry, type OperationSelection } from "../../registry/inside.ts";
import { searchToolNames, toToolName } from "../tool-name.ts";
import { type ServedOperation, VisibleOperations } from "../visible.ts";
import { searchTools } from "./search-tools.ts";
import { describeTool, type ProtocolEra, type ToolDescription } from "./tool.ts";

/**
 * The tools that `tools/list` returns: one for each operation, or tools that find, describe and call operations. `auto`
 * selects the second for a caller who sees more than 60 operations.
 */
export type MCPListMode = "auto" | "tools" | "search";

/** Maximum number of operations that `auto` lists one by one. */
const maxListedOperations = 60;

/** Number of tools in one page of `tools/list`. */
const pageSize = 100;

/** One page of `tools/list`. */
export interface ToolPage {
  tools: readonly ToolDescription[];
  nextCursor?: string;
}

/** The operations of a server as tools. Lists are kept until an operation changes. */
export class ToolCatalog {
  readonly visible: VisibleOperations;
  readonly #mode: MCPListMode;
  /** The operations by the names of their tools, until an operation changes. */
  #byName: ReadonlyMap<string, ServedOperation> | undefined = undefined;

  constructor(
    registry: OperationRegistry,
    { mode = "auto", ...selection }: OperationSelection & { mode?: MCPListMode | undefined },
  ) {
    if (!["auto", "tools", "search"].includes(mode)) {
      throw new TypeError('The option mode is invalid. Use "auto", "tools" or "search".');
    }
    this.visible = new VisibleOperations(coreOf(registry), selection, () => {
      this.#byName = undefined;
    });
    this.#mode = mode;
  }

  /** Finds an operation by the name of its tool, even if the caller does not see it: the call then fails with `ACCESS_DENIED`. */
  find(name: string): ServedOperation | undefined {
    this.#byName ??= indexByName(this.visible.all.operations);
    return this.#byName.get(name);
  }

  /** Finds an operation by its id or by the name of its tool. */
  findOperation(idOrName: unknown): ServedOperation | undefined {
    return typeof idOrName === "string" ? (this.visible.all.get(idOrName) ?? this.find(idOrName)) : undefined;
  }

  /** Finds the operation that a call with these parameters runs, by its own tool or with `call_operation`. */
  findTarget(params: unknown): ServedOperation | undefined {
    const name = getOwn(params, "name");
    const isIndirect = name === searchToolNames.call;
    return this.findOperation(isIndirect ? getOwn(getOwn(params, "arguments"), "operation") : name);
  }

  /** Returns what the list of a caller contains: operations, or the search tools. */
  contentFor(identity: Identity | undefined): readonly ServedOperation[] | typeof searchTools {
    const { operations } = this.visible.for(identity);
    const isSearching = this.#mode === "auto" ? operations.length > maxListedOperations : this.#mode === "search";
    return isSearching ? searchTools : operations;
  }

  /**
   * Returns a page of the tools that a caller sees. The cursor is the name of the last tool of the page before, so that a
   * change of the list between two pages repeats and omits nothing. Returns `undefined` for an unknown cursor.
   */
  list(identity: Identity | undefined, era: ProtocolEra, cursor: string | undefined): ToolPage | undefined {
    const tools = this.#listFor(identity, era);
    const start = cursor === undefined ? 0 : tools.findIndex(({ name }) => name === cursor) + 1;
    if (start === 0 && cursor !== undefined) return undefined;
    const page = tools.slice(start, start + pageSize);
    return start + page.length < tools.length ? { tools: page, nextCursor: page.at(-1)!.name } : { tools: page };
  }

  /** Explains that a tool is unknown, and names one that the caller sees and probably meant. */
  describeUnknown(name: string, identity: Identity | undefined): string {
    const id = this.visible.for(identity).nearest(name.replace("_", "."));
    const hint = id === undefined ? "" : ` Did you mean "${toToolName(id)}"?`;
    return `Unknown tool ${JSON.stringify(name.slice(0, 200))}.${hint}`;
  }

  #listFor(identity: Identity | undefined, era: ProtocolEra): readonly ToolDescription[] {
    if (this.contentFor(identity) === searchTools) return searchTools;
    const isListed = (operation: ServedOperation) => this.find(toToolName(operation.id)) === operation;
    const describe = (operation: ServedOperation) => describeTool(operation, era);
    return this.visible.for(identity).derive(`mcp:${era}`, (set) => set.operations.filter(isListed).map(describe));
  }
}

/**
 * Finds operations by the names of their tools. Should two have the same name, a foreign operation does not take it from an
 * operation of the program, nor from one that was there before.
 */
function indexByName(operations: readonly ServedOperation[]): ReadonlyMap<string, ServedOperation> {
  const byName = new Map<string, ServedOperation>();
  const isOwn = ({ owner }: ServedOperation) => owner === undefined;
  for (const operation of [...operations.filter(isOwn), ...operations]) {
    const name = toToolName(operation.id);
    if (!byName.has(name)) byName.set(name, operation);
  }
  return byName;
}

import { logger } from "../../internal/log.ts";
import type { Identity } from "../../operation/index.ts";
import { toToolName } from "../tool-name.ts";
import type { ServedOperation, VisibleOperations, VisibleSet } from "../visible.ts";
import { searchTools } from "./search-tools.ts";
import { type ProtocolEra, ServedTool, type ToolDescription } from "./tool.ts";

const log = logger("serve", "mcp");

/**
 * The tools that `tools/list` returns: one for each operation, or tools that find, describe and call operations. `auto`
 * selects the second for a caller who sees more than 60 operations.
 */
export type MCPListMode = "auto" | "tools" | "search";

/** Maximum number of operations that `auto` lists one by one. */
export const maxListedOperations = 60;

/** Number of tools in one page of `tools/list`. */
const pageSize = 100;

/** One page of `tools/list`. */
export interface ToolPage {
  tools: readonly ToolDescription[];
  nextCursor?: string;
}

/** All tools that some callers see, and the index of each by name. */
interface ToolList {
  readonly tools: readonly ToolDescription[];
  readonly indexes: ReadonlyMap<string, number>;
}

/** The operations of a server as tools. Lists and descriptions are kept until an operation changes. */
export class ToolCatalog {
  readonly visible: VisibleOperations;
  readonly #mode: MCPListMode;
  /** An operation that did not change keeps its tool. */
  readonly #tools = new WeakMap<ServedOperation, ServedTool>();
  #byName: { version: number; tools: ReadonlyMap<string, ServedTool | null> } | undefined = undefined;

  constructor(visible: VisibleOperations, mode: MCPListMode = "auto") {
    if (!["auto", "tools", "search"].includes(mode)) {
      throw new TypeError('The option mode is invalid. Use "auto", "tools" or "search".');
    }
    this.visible = visible;
    this.#mode = mode;
  }

  /** Finds a tool by its name, also one that the caller does not see: the call then fails with `ACCESS_DENIED`. */
  find(name: string): ServedTool | undefined {
    const { version } = this.visible;
    if (this.#byName?.version !== version) this.#byName = { version, tools: this.#index() };
    return this.#byName.tools.get(name) ?? undefined;
  }

  /** Finds a tool by the id of its operation or by its own name. */
  findOperation(idOrName: string): ServedTool | undefined {
    const operation = this.visible.get(idOrName);
    return operation === undefined ? this.find(idOrName) : this.toolOf(operation);
  }

  toolOf(operation: ServedOperation): ServedTool {
    let tool = this.#tools.get(operation);
    if (tool === undefined) {
      tool = new ServedTool(operation);
      this.#tools.set(operation, tool);
    }
    return tool;
  }

  /** Whether a caller receives the search tools instead of one tool for each operation. */
  isSearching(identity: Identity | undefined): boolean {
    if (this.#mode !== "auto") return this.#mode === "search";
    return this.visible.for(identity).operations.length > maxListedOperations;
  }

  /**
   * Returns a page of the tools that a caller sees. The cursor is the name of the last tool of the page before, so that a
   * change of the list between two pages repeats and omits nothing. Returns `undefined` for an unknown cursor.
   */
  list(identity: Identity | undefined, era: ProtocolEra, cursor: string | undefined): ToolPage | undefined {
    if (this.isSearching(identity)) return cursor === undefined ? { tools: searchTools } : undefined;
    const set = this.visible.for(identity);
    const { tools, indexes } = set.derive(`mcp:${era}`, () => this.#createList(set, era));
    const last = cursor === undefined ? -1 : indexes.get(cursor);
    if (last === undefined) return undefined;
    const page = tools.slice(last + 1, last + 1 + pageSize);
    const end = last + 1 + page.length;
    return end < tools.length ? { tools: page, nextCursor: tools[end - 1]!.name } : { tools: page };
  }

  /** Returns the name of the tool that was probably meant, which is one that the caller sees. */
  nearest(name: string, identity: Identity | undefined): string | undefined {
    const id = this.visible.for(identity).nearest(name.replace("_", "."));
    return id === undefined ? undefined : toToolName(id);
  }

  #createList(set: VisibleSet, era: ProtocolEra): ToolList {
    const tools = set.operations.flatMap((operation) => this.find(this.toolOf(operation).name)?.describe(era) ?? []);
    return { tools, indexes: new Map(tools.map(({ name }, index) => [name, index])) };
  }

  /** Operations with the same name have no tool, so that a foreign operation cannot take the name of another one. */
  #index(): Map<string, ServedTool | null> {
    const tools = new Map<string, ServedTool | null>();
    for (const operation of this.visible.all()) {
      const tool = this.toolOf(operation);
      const { name } = tool;
      if (tools.has(name)) {
        const message =
          "Two operations have the tool name {name}, so neither is listed. {id} is one of them. Rename one.";
        log.warn(message, { name, id: operation.id });
      }
      tools.set(name, tools.has(name) ? null : tool);
    }
    return tools;
  }
}

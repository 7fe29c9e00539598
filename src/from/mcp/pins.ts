import { CallError } from "../../operation/index.ts";
import type { ListedTool } from "./tool-list.ts";
import type { MCPOperation } from "./tool-operation.ts";

/** A tool that is held back because it is not what was approved. */
export interface HeldTool {
  tool: string;
  /** What was approved; absent for a tool that is new. */
  before?: string;
  /** What the server has now. */
  after: string;
}

/** Decides which tools of a server are offered, by what was approved. */
export class Pins {
  /** Hash of each approved tool by name; absent before the first load of a server that pins what it finds. */
  #approved: Map<string, string> | undefined;
  readonly #isOn: boolean;
  /** Operations as they were when last approved: a changed text must not reach anybody. */
  readonly #trusted = new Map<string, MCPOperation>();
  readonly #refusing = new WeakMap<MCPOperation, MCPOperation>();

  constructor(pinned: boolean | Record<string, string> = false) {
    this.#isOn = pinned !== false;
    if (typeof pinned === "object") this.#approved = new Map(Object.entries(pinned));
  }

  /** The operation that is offered for a listed tool; `undefined` for one that was never approved. */
  offer(name: string, listed: ListedTool): MCPOperation | undefined {
    if (!this.#isOn) return listed.operation;
    if (this.#approved?.get(name) === listed.hash) {
      this.#trusted.set(name, listed.operation);
      return listed.operation;
    }
    const trusted = this.#trusted.get(name);
    return trusted && this.#refuse(trusted);
  }

  /** Approves what the first load found, where nothing else was said. */
  approveFirst(tools: ReadonlyMap<string, ListedTool>): void {
    if (this.#isOn) this.#approved ??= new Map(Array.from(tools, ([name, { hash }]) => [name, hash]));
  }

  approve(name: string, { hash }: ListedTool): void {
    this.#approved?.set(name, hash);
  }

  held(tools: ReadonlyMap<string, ListedTool>): HeldTool[] {
    const approved = this.#approved;
    if (!this.#isOn || approved === undefined) return [];
    return Array.from(tools, ([tool, { hash }]) => ({ tool, before: approved.get(tool), after: hash }))
      .filter(({ before, after }) => before !== after)
      .map(({ tool, before, after }) => (before === undefined ? { tool, after } : { tool, before, after }));
  }

  #refuse(operation: MCPOperation): MCPOperation {
    const known = this.#refusing.get(operation);
    if (known !== undefined) return known;
    const id = `${operation.namespace}.${operation.name}`;
    const message = `"${id}" is not what was approved: its server changed it. Approve it to use it again.`;
    const handler = () => {
      throw new CallError("UNAVAILABLE", message, { operationId: id }, { mayHaveRun: false });
    };
    const refusing = { ...operation, handler };
    this.#refusing.set(operation, refusing);
    return refusing;
  }
}

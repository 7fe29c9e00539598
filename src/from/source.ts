import type { IOperationDefinition } from "../operation/index.ts";

/** Ends a subscription to changes. Calling it twice is fine. */
export type Unsubscribe = () => void;

/** A secret, or a function that returns it for every request, so that tokens can rotate. */
export type Secret = string | (() => string | Promise<string>);

/** What became of a source's operations since it was last read. */
export interface SourceChange {
  added: IOperationDefinition[];
  changed: IOperationDefinition[];
  /** Ids, `namespace.name`. */
  removed: string[];
}

/** What a source took in, left out and why. */
export interface SourceReport {
  /** Ids of the imported operations. */
  imported: string[];
  /** `where` points into the document or names the item. */
  skipped: Array<{ where: string; reason: string }>;
  warnings: Array<{ where: string; reason: string }>;
}

/** A place operations come from, such as an OpenAPI document or an MCP server. Never sees the registry. */
export interface OperationSource {
  /** Label for logs and errors, such as `openapi:petstore`. */
  readonly name: string;
  /** Reads the description and returns operations ready to register. */
  load(options?: { signal?: AbortSignal }): Promise<IOperationDefinition[]>;
  /** Reports what was added, changed or removed later. Absent when the source cannot change. */
  onChange?(listener: (change: SourceChange) => void): Unsubscribe;
  /**
   * Whether an operation that this source does not have may appear in a moment, because what it reads from is known to be
   * incomplete. A call of such an operation fails with `UNAVAILABLE` instead of `OPERATION_NOT_FOUND`. @default never
   */
  isIncomplete?(operationId: string): boolean;
  /** Releases what `load` opened. Calling it twice is fine. */
  close(): Promise<void>;
}

import type { IOperationDefinition } from "../operation/index.ts";

/** Ends a subscription to changes. Calling it twice is fine. */
export type Unsubscribe = () => void;

/** A secret, or a function that returns it for every request, so that tokens can rotate. */
export type Secret = string | (() => string | Promise<string>);

/** What became of a source's operations since it was last read. */
export interface SourceChange {
  /** Operations that are new. */
  added: IOperationDefinition[];
  /** Operations that replace those with the same id. */
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
  /** What was imported with a loss, and why. */
  warnings: Array<{ where: string; reason: string }>;
}

/** Options of {@link OperationSource.load}. */
export interface SourceLoadOptions {
  /** Ends loading when it fires. */
  signal?: AbortSignal;
  /** Receives what each reading skipped, now and after later changes. @default the source logs it */
  onReport?: (report: SourceReport) => void;
}

/** A place operations come from, such as an OpenAPI document or an MCP server. Never sees the registry. */
export interface OperationSource {
  /** Label for logs and errors, such as `openapi:petstore`. */
  readonly name: string;
  /**
   * Whether `accessControl` of `registry.follow()` replaces the access rules of the operations, because only the
   * importing program has made them. Otherwise it is added to them. @default false
   */
  readonly replacesAccess?: boolean;
  /** Reads the description and returns operations ready to register, in an order that is the same in every run. */
  load(options?: SourceLoadOptions): Promise<IOperationDefinition[]>;
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

/** How {@link compareOperations} treats the items of a source. */
export interface Comparison<T> {
  isSame(before: T, after: T): boolean;
  toDefinition(item: T, id: string): IOperationDefinition;
}

/** Compares what a source had with what it has now, each by operation id. */
export function compareOperations<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  { isSame, toDefinition }: Comparison<T>,
): SourceChange {
  const change: SourceChange = { added: [], changed: [], removed: [...before.keys()].filter((id) => !after.has(id)) };
  for (const [id, item] of after) {
    const old = before.get(id);
    if (old === undefined) change.added.push(toDefinition(item, id));
    else if (!isSame(old, item)) change.changed.push(toDefinition(item, id));
  }
  return change;
}

/** Whether nothing was added, changed or removed. */
export function isEmptyChange({ added, changed, removed }: SourceChange): boolean {
  return added.length + changed.length + removed.length === 0;
}

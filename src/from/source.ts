import type { IOperationDefinition } from "../operation/index.ts";

/** Ends a subscription to changes. May be called more than once. */
export type Unsubscribe = () => void;

/** A secret, or a function that returns it for every request, so that tokens can rotate. */
export type Secret = string | (() => string | Promise<string>);

/** Changes of a source's operations since the last read. */
export interface SourceChange {
  /** New operations. */
  added: IOperationDefinition[];
  /** Operations that replace those with the same id. */
  changed: IOperationDefinition[];
  /** Ids of removed operations, `namespace.name`. */
  removed: string[];
}

/** A report of the operations that a source imported and skipped, and why. */
export interface SourceReport {
  /** Ids of the imported operations. */
  imported: string[];
  /**
   * Items that were not imported. `where` is a location in the document or the name of the item, and `reason` is a
   * sentence.
   */
  skipped: Array<{ where: string; reason: string }>;
  /** Items that were imported with a loss, and why. */
  warnings: Array<{ where: string; reason: string }>;
}

/** Options of {@link OperationSource.load}. */
export interface SourceLoadOptions {
  /** Cancels loading. */
  signal?: AbortSignal;
  /** Receives a report of each read, now and after later changes. @default the source logs it */
  onReport?: (report: SourceReport) => void;
}

/** What a registry must know about the operations of a source. Every trait is optional. */
export interface SourceTraits {
  /**
   * Whether `accessControl` of `registry.follow()` replaces the access rules of the operations, because the importing
   * program has defined them. Otherwise it is added to them. @default false
   */
  readonly replacesAccess?: boolean;
  /**
   * Whether its operations are code of this program, which may define their HTTP routes with `http` of `defineOperation`.
   * @default false: an operation from outside never chooses its route
   */
  readonly definesRoutes?: boolean;
  /**
   * Whether others choose the ids of its operations, as peers do. They cannot use a namespace that a source without this
   * trait has or has had. @default false
   */
  readonly foreignIds?: boolean;
  /**
   * Returns whether an operation that the source does not have may appear soon, because the source is known to be
   * incomplete. A call of such an operation fails with `UNAVAILABLE` instead of `OPERATION_NOT_FOUND`. @default never
   */
  mayHave?(operationId: string): boolean;
}

/** A source of operations, such as an OpenAPI document or an MCP server. It never accesses the registry. */
export interface OperationSource {
  /** Label for logs and errors, such as `openapi:petstore`. */
  readonly name: string;
  /** What distinguishes its operations from those that this program defines for itself. @default none */
  readonly traits?: SourceTraits;
  /** Reads the source and returns operations that are ready to be registered, in the same order in every run. */
  load(options?: SourceLoadOptions): Promise<IOperationDefinition[]>;
  /** Calls `listener` with later changes. Absent if the source cannot change. */
  onChange?(listener: (change: SourceChange) => void): Unsubscribe;
  /** Releases the resources that `load` opened. May be called more than once. */
  close(): Promise<void>;
}

/** Functions with which {@link compareOperations} compares the items of a source. */
export interface Comparison<T> {
  isSame(before: T, after: T): boolean;
  toDefinition(item: T, id: string): IOperationDefinition;
}

/** Compares the previous and the current items of a source, by operation id. */
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

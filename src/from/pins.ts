import { copyWith } from "../internal/objects.ts";
import { CallError, formatOperationId, type IOperationDefinition } from "../operation/index.ts";

/** The current version of an operation, with the hash of the parts that callers and reviewers rely on. */
export interface PinnableOperation<Operation> {
  readonly operation: Operation;
  readonly hash: string;
}

/** An operation that is waiting for approval. */
export interface HeldOperation {
  /** The key under which it is pinned. */
  key: string;
  /** Approved hash. Absent for a new operation. */
  before?: string;
  /** Hash of the current version. */
  after: string;
}

/** Compares the operations of a source with their approved versions, by hash. */
export class Pins<Operation extends Pick<IOperationDefinition, "namespace" | "name" | "handler">> {
  /** Whether anything is pinned. */
  readonly isOn: boolean;
  /** Approved hash by key. Absent before the first load of a source that approves its first load. */
  #approved: Map<string, string> | undefined;
  /** The approved versions of operations. A changed description must not reach callers. */
  readonly #trusted = new Map<string, Operation>();
  readonly #refusing = new WeakMap<Operation, Operation>();

  /**
   * @param pinned - `true` approves the operations of the first load. A record contains the approved hash of each key.
   */
  constructor(pinned: boolean | Record<string, string> = false) {
    this.isOn = pinned !== false;
    if (typeof pinned === "object") this.#approved = new Map(Object.entries(pinned));
  }

  /** Whether this version of the operation is approved, or nothing is pinned. */
  isApproved(key: string, hash: string): boolean {
    return !this.isOn || this.#approved?.get(key) === hash;
  }

  /**
   * Returns the operation to offer, or `undefined` if it was never approved. A changed operation is offered in its
   * approved version, with a handler that fails.
   */
  offer(key: string, { operation, hash }: PinnableOperation<Operation>): Operation | undefined {
    if (!this.isOn) return operation;
    if (this.isApproved(key, hash)) {
      this.#trusted.set(key, operation);
      return operation;
    }
    const trusted = this.#trusted.get(key);
    return trusted && this.refuse(trusted);
  }

  /** Approves the operations of the first load, unless the configuration contains the approved hashes. */
  approveFirst(found: ReadonlyMap<string, { readonly hash: string }>): void {
    if (this.isOn) this.#approved ??= new Map(Array.from(found, ([key, { hash }]) => [key, hash]));
  }

  /** Approves the current version of an operation. */
  approve(key: string, hash: string): void {
    this.#approved?.set(key, hash);
  }

  /** Returns the operations that are waiting for approval, in the order of `found`. */
  held(found: ReadonlyMap<string, { readonly hash: string }>): HeldOperation[] {
    const approved = this.#approved;
    if (approved === undefined) return [];
    return Array.from(found)
      .filter(([key, { hash }]) => approved.get(key) !== hash)
      .map(([key, { hash }]) => {
        const before = approved.get(key);
        return before === undefined ? { key, after: hash } : { key, before, after: hash };
      });
  }

  /** Returns a copy whose handler fails with `UNAVAILABLE`. The same operation always has the same copy. */
  refuse(operation: Operation): Operation {
    const known = this.#refusing.get(operation);
    if (known !== undefined) return known;
    const operationId = formatOperationId(operation.namespace, operation.name);
    const message = `"${operationId}" differs from its approved version. Review and approve the change to use it.`;
    const handler = () => {
      throw new CallError("UNAVAILABLE", message, { operationId }, { mayHaveRun: false });
    };
    const refusing = copyWith(operation, { handler });
    this.#refusing.set(operation, refusing);
    return refusing;
  }
}

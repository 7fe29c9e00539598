import { copyWith } from "../internal/objects.ts";
import { CallError, formatOperationId, type IOperationDefinition } from "../operation/index.ts";

/** An operation as its source has it now, with the hash of everything that a caller or reviewer relies on. */
export interface PinnableOperation<Operation> {
  readonly operation: Operation;
  readonly hash: string;
}

/** An operation that waits for approval. */
export interface HeldOperation {
  /** The key under which it is pinned. */
  key: string;
  /** Hash that was approved; absent for an operation that is new. */
  before?: string;
  /** Hash of what the source has now. */
  after: string;
}

/** Decides by hash which operations of a source are what was approved. */
export class Pins<Operation extends Pick<IOperationDefinition, "namespace" | "name" | "handler">> {
  /** Whether anything is pinned. */
  readonly isOn: boolean;
  /** Approved hash by key; absent before the first load of a source that approves what it finds there. */
  #approved: Map<string, string> | undefined;
  /** Operations as they were when last approved: a changed description must not reach callers. */
  readonly #trusted = new Map<string, Operation>();
  readonly #refusing = new WeakMap<Operation, Operation>();

  /** @param pinned - `true` approves what the first load finds; a record has the approved hash of each key. */
  constructor(pinned: boolean | Record<string, string> = false) {
    this.isOn = pinned !== false;
    if (typeof pinned === "object") this.#approved = new Map(Object.entries(pinned));
  }

  /** Whether the operation is what was approved, or nothing is pinned. */
  isApproved(key: string, hash: string): boolean {
    return !this.isOn || this.#approved?.get(key) === hash;
  }

  /**
   * Returns the operation to offer. One that changed is offered as it was approved, with a handler that refuses;
   * `undefined` for one that was never approved.
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

  /** Approves what the first load found, unless the configuration names the approved hashes. */
  approveFirst(found: ReadonlyMap<string, { readonly hash: string }>): void {
    if (this.isOn) this.#approved ??= new Map(Array.from(found, ([key, { hash }]) => [key, hash]));
  }

  /** Approves an operation as it is now. */
  approve(key: string, hash: string): void {
    this.#approved?.set(key, hash);
  }

  /** Returns the operations that wait for approval, in the order of `found`. */
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

  /** Returns a copy whose handler fails with `UNAVAILABLE`; the same copy for the same operation. */
  refuse(operation: Operation): Operation {
    const known = this.#refusing.get(operation);
    if (known !== undefined) return known;
    const operationId = formatOperationId(operation.namespace, operation.name);
    const message = `"${operationId}" is not what was approved: its source changed or added it. Review and approve it to use it.`;
    const handler = () => {
      throw new CallError("UNAVAILABLE", message, { operationId }, { mayHaveRun: false });
    };
    const refusing = copyWith(operation, { handler });
    this.#refusing.set(operation, refusing);
    return refusing;
  }
}

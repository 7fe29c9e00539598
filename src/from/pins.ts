import { canonicalJSON } from "../internal/canonical-json.ts";
import { copyWith } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError, formatOperationId, type IOperationDefinition } from "../operation/inside.ts";

/** Returns the SHA-256 of a value's {@link canonicalJSON} in hexadecimal digits. */
export async function hashJSON(value: unknown): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonicalJSON(value)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The current version of an operation, with the hash of the parts that callers and reviewers rely on. */
export interface PinnableOperation<Operation> {
  readonly operation: Operation;
  readonly hash: string;
}

/** An operation that is waiting for approval. */
export interface HeldOperation {
  /** Its id in the source, before `rename` and `namespace` of `registry.follow()`. */
  operationId: string;
  /** Approved hash. Absent for a new operation. */
  before?: string;
  /** Hash of the current version. */
  after: string;
}

/** Compares the operations of a source with their approved versions, by hash. */
export class Pins<Operation extends Pick<IOperationDefinition, "namespace" | "name" | "handler">> {
  /** Whether anything is pinned. */
  readonly isOn: boolean;
  /** Approved hash by operation id. Absent before the first load of a source that approves its first load. */
  #approved: Map<string, string> | undefined;
  /** The approved versions of operations. A changed description must not reach callers. */
  readonly #trusted = new Map<string, Operation>();
  readonly #refusing = new WeakMap<Operation, Operation>();

  /**
   * @param pinned - `true` approves the operations of the first load. A record contains the approved hash of each
   * operation by id.
   */
  constructor(pinned: boolean | Record<string, string> = false) {
    this.isOn = pinned !== false;
    if (typeof pinned === "object") this.#approved = new Map(Object.entries(pinned));
  }

  /** Whether this version of the operation is approved, or nothing is pinned. */
  isApproved(id: string, hash: string): boolean {
    return !this.isOn || this.#approved?.get(id) === hash;
  }

  /**
   * Returns the operation to offer, or `undefined` if it was never approved. A changed operation is offered in its
   * approved version, with a handler that fails.
   */
  offer(id: string, { operation, hash }: PinnableOperation<Operation>): Operation | undefined {
    if (!this.isOn) return operation;
    if (this.isApproved(id, hash)) {
      this.#trusted.set(id, operation);
      return operation;
    }
    const trusted = this.#trusted.get(id);
    return trusted && this.refuse(trusted);
  }

  /** Approves the operations of the first load, unless the configuration contains the approved hashes. */
  approveFirst(found: ReadonlyMap<string, { readonly hash: string }>): void {
    if (this.isOn) this.#approved ??= new Map(Array.from(found, ([id, { hash }]) => [id, hash]));
  }

  /**
   * Approves the current version of the operations with these ids, or of all without ids. Throws `VALIDATION_ERROR` and
   * approves nothing if `found` does not contain an id. `source` names the source in that error.
   */
  approve(ids: readonly string[], found: ReadonlyMap<string, { readonly hash: string }>, source: string): void {
    const missing = ids.find((id) => !found.has(id));
    if (missing !== undefined) {
      const message = `The source ${source} has no operation ${quote(missing)} to approve.`;
      throw new CallError("VALIDATION_ERROR", message, { operationId: missing }, { mayHaveRun: false });
    }
    for (const id of ids.length > 0 ? ids : found.keys()) this.#approved?.set(id, found.get(id)!.hash);
  }

  /** Returns the operations that are waiting for approval, in the order of `found`. */
  held(found: ReadonlyMap<string, { readonly hash: string }>): HeldOperation[] {
    const approved = this.#approved;
    if (approved === undefined) return [];
    return Array.from(found)
      .filter(([id, { hash }]) => approved.get(id) !== hash)
      .map(([operationId, { hash }]) => {
        const before = approved.get(operationId);
        return before === undefined ? { operationId, after: hash } : { operationId, before, after: hash };
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

import {
  type CallOperation,
  createDeclaredErrors,
  type DeclaredErrors,
  type Identity,
  type OperationContext,
  type Progress,
  type RegisteredEnv,
} from "../operation/index.ts";
import type { CallState } from "./call-state.ts";

/** Returns what the registry knows about the call that a context belongs to; `undefined` for any other value. */
export let stateOf: (value: unknown) => CallState | undefined;

/**
 * The context of one call, as its handler receives it. Its private field cannot be forged (decision 004), and everything
 * that costs is created when it is first read: most handlers read none of it.
 */
export class CallContext implements OperationContext {
  // Not defined as class fields, which would store each of them twice.
  declare readonly identity: Identity | undefined;
  declare readonly deadline: number | undefined;
  declare readonly metadata: Readonly<Record<string, unknown>>;
  declare readonly parentRequestId: string | undefined;
  readonly #state: CallState;

  static {
    stateOf = (value) =>
      typeof value === "object" && value !== null && #state in value ? (value as CallContext).#state : undefined;
  }

  constructor(
    state: CallState,
    identity: Identity | undefined,
    deadline: number | undefined,
    metadata: Readonly<Record<string, unknown>>,
    parentRequestId: string | undefined,
  ) {
    this.#state = state;
    this.identity = identity;
    this.deadline = deadline;
    this.metadata = metadata;
    this.parentRequestId = parentRequestId;
  }

  get requestId(): string {
    return this.#state.openRequestId();
  }

  get signal(): AbortSignal {
    return this.#state.openSignal();
  }

  get abortable(): boolean {
    return this.#state.isAbortable;
  }

  get remote(): boolean {
    return this.#state.isRemote;
  }

  get env(): RegisteredEnv {
    return this.#state.openEnv() as RegisteredEnv;
  }

  get call(): CallOperation {
    return this.#state.core.createCall(this.#state);
  }

  get errors(): DeclaredErrors<Record<string, object>> {
    const { core, operationId } = this.#state;
    return createDeclaredErrors(operationId, core.operations.get(operationId)?.spec.errorSchemas);
  }

  /** A function of its own each time, so that a handler may destructure its context. */
  get progress(): (progress: Progress) => void {
    return (progress) => this.#state.reportProgress(progress);
  }
}

import { notify } from "../internal/emitter.ts";
import { nextRequestId } from "../internal/request-id.ts";
import {
  type Identity,
  type OperationContext,
  type OperationEnv,
  type Progress,
  type RegisteredEnv,
  type SubscribeOptions,
  toIdentity,
} from "../operation/index.ts";
import type { Guard } from "./guard.ts";
import { reportListener } from "./reports.ts";

/** What a context asks of the registry that made it. */
export interface ContextHost {
  /** Makes a guard that never ends a call, for a handler that asks for a signal all the same. */
  createGuard(operationId: string): Guard;
  /** Makes the operations that the handler may call. */
  createEnv(context: CallContext): OperationEnv;
  reportProgress(context: CallContext, operationId: string, progress: Progress): void;
}

/** How many calls one from outside may cause, at any depth. */
export interface CallBudget {
  readonly allowed: number;
  /** Below 0 when there were too many. */
  callsLeft: number;
}

/** What is known of a call that came from outside. Calls inside it share its budget. */
export interface Arrival {
  /** The id that the other side gave it. */
  readonly requestId: string;
  /** How many calls of other processes stand above it. */
  readonly depth: number;
  /** Absent as long as nothing counts on it. */
  readonly budget: CallBudget | undefined;
  /** Gives the budget, made when first asked for. */
  openBudget(): CallBudget;
  /** Lets calls that it causes elsewhere and that come back count on its budget, and gives the id to find it by. */
  shareBudget(): string;
  /** Whether it, or a call above it, came from outside this process. */
  readonly isRemote: boolean;
  /** The call of the other side whose handler made this one. */
  readonly parentRequestId?: string | undefined;
  /** Hears what the handler reports, and knows itself whether the call has ended. */
  reportProgress(progress: Progress): void;
  /** Gives what ends the call, for a handler or a nested call that wants to hear of that. Made when first asked for. */
  watch?(): Guard;
}

/** What a call that leaves for a peer says of the one that it passes on, and of those above it. */
export interface PassedOnCall {
  parentRequestId: string | undefined;
  rootRequestId: string | undefined;
  depth: number | undefined;
  /** Of a subscription: how many values the peer may be ahead. */
  credit: number | undefined;
  /** The same in bytes. */
  creditBytes: number | undefined;
  /** Whether a call above came from outside this process. */
  isRemote: boolean;
  deadline: number | undefined;
  identity: Identity | undefined;
  metadata: Readonly<Record<string, unknown>> | undefined;
  signal: AbortSignal | undefined;
  onProgress: (progress: Progress) => void;
  token: string | undefined;
}

/** Where the handler of a context stands; `asked` means that somebody wants to hear of its end. */
const Phase = { starting: 0, startingAsked: 1, running: 2, runningAsked: 3, finished: 4 } as const;
type Phase = (typeof Phase)[keyof typeof Phase];

const noMetadata: Readonly<Record<string, unknown>> = Object.freeze({});

let watch: (context: CallContext, result: PromiseLike<unknown>) => void;

/**
 * The context of one call. Private fields make it unforgeable, and everything that costs is made when first read:
 * most handlers read none of it.
 */
export class CallContext implements OperationContext {
  readonly identity: Identity | undefined;
  readonly deadline: number | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly parentRequestId: string | undefined;

  readonly #host: ContextHost;
  readonly #operationId: string;
  readonly #options: SubscribeOptions | undefined;
  readonly #depth: number;
  readonly #arrival: Arrival | undefined;
  #requestId: string | undefined = undefined;
  #guard: Guard | undefined = undefined;
  #env: OperationEnv | undefined = undefined;
  #phase: Phase = Phase.starting;
  #result: PromiseLike<unknown> | undefined = undefined;

  constructor(
    host: ContextHost,
    operationId: string,
    options: SubscribeOptions | undefined,
    parent: CallContext | undefined,
    arrival?: Arrival,
  ) {
    this.#host = host;
    this.#operationId = operationId;
    this.#options = options;
    // Progress that comes after the end reaches nobody, so the end must be known.
    if (options?.onProgress !== undefined) this.#phase = Phase.startingAsked;
    if (parent === undefined) {
      this.identity = toIdentity(options?.identity);
      this.deadline = options?.deadline;
      this.metadata = options?.metadata ?? noMetadata;
      this.parentRequestId = arrival?.parentRequestId;
      this.#depth = arrival === undefined ? 0 : arrival.depth;
      this.#arrival = arrival;
    } else {
      this.identity = parent.identity;
      this.deadline = earlier(parent.deadline, options?.deadline);
      this.metadata = options?.metadata ?? parent.metadata;
      this.parentRequestId = parent.requestId;
      this.#depth = parent.#depth + 1;
      this.#arrival = parent.#arrival;
      if (this.#arrival !== undefined) this.#arrival.openBudget().callsLeft -= 1;
    }
  }

  get requestId(): string {
    if (this.#requestId === undefined) {
      // A nested call always has an id of its own.
      const given: unknown = this.#isOutermost ? (this.#arrival ?? this.#options)?.requestId : undefined;
      this.#requestId = typeof given === "string" ? given : nextRequestId();
    }
    return this.#requestId;
  }

  get signal(): AbortSignal {
    const guard = CallContext.watch(this) ?? this.#host.createGuard(this.#operationId);
    this.#guard = guard;
    return guard.signal;
  }

  get abortable(): boolean {
    return this.#guard !== undefined || (this.#isOutermost && this.#arrival?.watch !== undefined);
  }

  get remote(): boolean {
    return this.#arrival?.isRemote === true;
  }

  get env(): RegisteredEnv {
    this.#env ??= this.#host.createEnv(this);
    return this.#env as RegisteredEnv;
  }

  /** A function of its own each time, so that a handler may take it out of its context. */
  get progress(): (progress: Progress) => void {
    return (progress) => this.#report(progress);
  }

  /** Whether no other call of this process made this one. */
  get #isOutermost(): boolean {
    return this.#depth === (this.#arrival === undefined ? 0 : this.#arrival.depth);
  }

  #report(progress: Progress): void {
    if (this.#phase === Phase.finished || this.#guard?.ended !== undefined) return;
    this.#host.reportProgress(this, this.#operationId, progress);
    if (this.#isOutermost) this.#arrival?.reportProgress(progress);
    const options = this.#options;
    if (options?.onProgress !== undefined) notify(() => options.onProgress?.(progress), reportProgressListener);
  }

  /** Tells whether a value is a context that some registry made. */
  static is(value: unknown): value is CallContext {
    return typeof value === "object" && value !== null && #host in value;
  }

  /** Tells whether a value is a context that `host` made; a property or a prototype cannot claim it. */
  static isOf(host: ContextHost, value: unknown): value is CallContext {
    return typeof value === "object" && value !== null && #host in value && value.#host === host;
  }

  static guardOf(context: CallContext): Guard | undefined {
    return context.#guard;
  }

  /** The guard of a call that can be given up, made now if need be. */
  static watch(context: CallContext): Guard | undefined {
    if (context.#guard === undefined && context.#isOutermost) context.#guard = context.#arrival?.watch?.();
    return context.#guard;
  }

  static depthOf(context: CallContext): number {
    return context.#depth;
  }

  static isOutermost(context: CallContext): boolean {
    return context.#isOutermost;
  }

  /** The budget of the call from outside that this one is part of. */
  static budgetOf(context: CallContext): CallBudget | undefined {
    return context.#arrival?.budget;
  }

  /** What a call that leaves for a peer says of this one. In one literal, because it is a good part of what that costs. */
  static describe(context: CallContext): PassedOnCall {
    const options = context.#options;
    return {
      parentRequestId: context.#knownRequestId,
      rootRequestId: context.#arrival?.shareBudget(),
      depth: context.#depth + 1,
      credit: options?.credit,
      creditBytes: options?.creditBytes,
      isRemote: context.remote,
      deadline: context.deadline,
      identity: context.identity,
      metadata: context.metadata === noMetadata ? undefined : context.metadata,
      signal: context.abortable ? context.signal : undefined,
      onProgress: context.progress,
      token: undefined,
    };
  }

  /** The nearest id of this call and those above it that anything can have seen: one that is made now links to nothing. */
  get #knownRequestId(): string | undefined {
    const isGiven = this.#isOutermost && (this.#arrival ?? this.#options)?.requestId !== undefined;
    return this.#requestId !== undefined || isGiven ? this.requestId : this.parentRequestId;
  }

  static attachGuard(context: CallContext, guard: Guard): void {
    context.#guard = guard;
  }

  static isFinished(context: CallContext): boolean {
    return context.#phase === Phase.finished;
  }

  /** Says, before the handler starts, that somebody wants to hear of its end. */
  static askForEnd(context: CallContext): void {
    if (context.#phase === Phase.starting) context.#phase = Phase.startingAsked;
  }

  /** Says that the handler's code has returned `result` and is now running on its own. */
  static started(context: CallContext, result: PromiseLike<unknown>): void {
    if (context.#phase === Phase.startingAsked) watch(context, result);
    else {
      context.#phase = Phase.running;
      context.#result = result;
    }
  }

  /** Says that the handler is done: from now on nothing that is done in its name is trusted. */
  static finish(context: CallContext): void {
    context.#phase = Phase.finished;
    context.#result = undefined;
  }

  /**
   * Tells whether the handler that got this context still runs. Nobody listens for its end until it is first asked,
   * so that handlers which call nothing pay nothing. Once the handler waits for something the answer takes a
   * microtask: if the handler had finished before, its reaction is in the queue ahead of that one.
   */
  static isRunning(context: CallContext): boolean | Promise<boolean> {
    switch (context.#phase) {
      case Phase.starting:
        context.#phase = Phase.startingAsked;
        return true;
      case Phase.startingAsked:
        return true;
      case Phase.finished:
        return false;
      case Phase.running:
        watch(context, context.#result!);
        break;
      case Phase.runningAsked:
        break;
    }
    return Promise.resolve().then(() => context.#phase !== Phase.finished);
  }

  static {
    watch = (context, result) => {
      const finish = () => CallContext.finish(context);
      context.#phase = Phase.runningAsked;
      context.#result = undefined;
      result.then(finish, finish);
    };
  }
}

function reportProgressListener(error: unknown): void {
  reportListener("progress", error);
}

/** The earlier of two deadlines that may both be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

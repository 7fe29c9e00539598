import type { SourceReport } from "../from/source.ts";
import type {
  CallError,
  Identity,
  IOperationDefinition,
  Limits,
  OperationContext,
  OperationDefaults,
  OperationSpec,
  OutputPolicy,
  Progress,
  ResponseEnvelope,
} from "../operation/index.ts";

/** The argument of a `customAuth` function. */
export interface CustomAuthCall<Input = unknown> {
  /** The caller. */
  readonly identity?: Identity;
  /** The validated input. */
  readonly input: Input;
  /** Spec of the operation that is called. */
  readonly spec: OperationSpec;
  /** The metadata that the caller passed. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Returns whether a call is allowed; only `true` allows it. Named by `accessControl.customAuth`. */
export type CustomAuth<Input = unknown> = (call: CustomAuthCall<Input>) => boolean | Promise<boolean>;

/** Options of a registry. */
export interface RegistryOptions {
  /** Functions that `accessControl.customAuth` names. A missing function denies access. */
  customAuth?: Record<string, CustomAuth>;
  /** How output that does not match its schema is handled, for operations without an `outputPolicy`. @default "cast" */
  outputPolicy?: OutputPolicy;
  /**
   * Time in ms for direct calls of queries and mutations that have neither `timeout` nor `deadline`. Nested calls have
   * the deadline of their parent call, and incoming calls the timeout of the server. @default none
   */
  defaultTimeout?: number;
  /** Limits on the cost of one call. @default those of `Limits` */
  limits?: Limits;
  /**
   * Whether the registry warns about output that differs from its schema and about operations that a source skips: through
   * LogTape, or with `console.warn` until LogTape is configured. It writes each warning once per operation and kind.
   * `onReport` of a source or of `follow` receives its report instead of the log. @default true
   */
  log?: boolean;
}

/** How nested calls are checked: `trust` skips access rules, `attenuate` checks them against the scopes of the caller. */
export type NestedMode = "trust" | "attenuate";

/** The call that middleware wraps. */
export interface MiddlewareCall {
  /** Id of the operation, `namespace.name`. */
  readonly operationId: string;
  /** Spec of the operation as it is registered. */
  readonly spec: OperationSpec;
  /** The validated input. */
  readonly input: unknown;
  /** The context that the handler receives. */
  readonly context: OperationContext;
  /**
   * Whether a handler of this registry made the call. `context.parentRequestId` can be trusted only then; in an incoming
   * call it is provided by the caller.
   */
  readonly isNested: boolean;
}

/**
 * Wraps the run step, after access and input were checked. `next()` runs the following middleware and the handler, and
 * returns the result of the handler: a value, an envelope, or an async iterable for subscriptions. The middleware returns
 * the result of the call. When the handler throws, `next()` rejects with the `CallError` that the caller would receive.
 */
export type Middleware = (call: MiddlewareCall, next: () => Promise<unknown>) => unknown;

/**
 * Selects operations by id and by tag. A pattern is an id in which `*` matches any characters, such as `"task.*"`, or
 * `"tag:"` and a tag, in which `*` also matches any characters. Ids are those of the registry, after any renaming.
 */
export interface OperationSelection {
  /** Selects the operations that match one of these. @default all */
  include?: readonly string[];
  /** Excludes the operations that match one of these, even if `include` selects them. @default none */
  exclude?: readonly string[];
}

/** Fields of all call events. */
export interface RegistryCallEventBase {
  /** Identifies the call. */
  requestId: string;
  /** The `requestId` of the call whose handler made this call. */
  parentRequestId?: string;
  /** Id of the operation. */
  operationId: string;
  /** The caller. */
  identity?: Identity;
  /**
   * How the call, or the one that it is nested in, arrived from outside: `http`, `mcp`, `websocket`, or `peer` for other
   * transports. Missing for calls of this process.
   */
  via?: string;
  /** In milliseconds since the epoch. */
  timestamp: number;
}

/** An event of a call. Does not contain the input. */
export type RegistryCallEvent =
  | (RegistryCallEventBase & { kind: "started" })
  | (RegistryCallEventBase & {
      kind: "progressed";
      /** The progress that the handler reported. */
      progress: Progress;
    })
  /** One value of a subscription; `seq` counts from 0. */
  | (RegistryCallEventBase & {
      kind: "yielded";
      /** Counts the values from 0. */
      seq: number;
      /** The value. */
      envelope: ResponseEnvelope;
    })
  /** `duration` is in milliseconds. Subscriptions end without an envelope. */
  | (RegistryCallEventBase & {
      kind: "succeeded";
      /** In milliseconds. */
      duration: number;
      /** The result; missing for subscriptions. */
      envelope?: ResponseEnvelope;
    })
  | (RegistryCallEventBase & {
      kind: "failed";
      /** In milliseconds. */
      duration: number;
      /** The error that the caller received. */
      error: CallError;
    });

/** An event of the set of operations. `spec` is the new spec, or the last one of a removed operation. */
export interface ChangeEvent {
  /** The kind of the change. */
  kind: "added" | "changed" | "removed";
  /** Id of the operation. */
  operationId: string;
  /** The new spec, or the last one of a removed operation. */
  spec: OperationSpec;
}

/** The events of a registry by name. */
export interface RegistryEvents {
  /** A call started, progressed, yielded a value or ended. */
  call: RegistryCallEvent;
  /** An operation was added, changed or removed. */
  change: ChangeEvent;
}

/** A registered operation: its spec, with its handler if it has one. */
export interface RegisteredOperation extends OperationSpec, Pick<IOperationDefinition, "fillDefaults" | "nextPage"> {
  /** Runs the operation; missing after `registerSpec`. */
  handler?: IOperationDefinition["handler"];
}

/** Filters of a search. An operation must match all of them. */
export interface SearchOptions {
  /** Only operations of this namespace. */
  namespace?: string;
  /** Only operations with this tag. */
  tag?: string;
  /**
   * Only operations whose scopes this identity has. `null` is a caller without an identity. Resource rules and
   * `customAuth` need an input and are checked when the operation is called. @default all operations
   */
  identity?: Identity | null;
  /** Maximum number of results. @default no limit */
  limit?: number;
}

/**
 * Options of `registry.follow()`. The options of a source select the operations that it reads; these options apply to the
 * operations that it returned. `include` and `exclude` match the ids in the registry, after `rename` and `namespace`, and
 * also names without their namespace. A pattern that matches no operation is reported, except for peers.
 */
export interface FollowOptions extends OperationSelection {
  /**
   * New names by id in the source, such as `{ "github.issues/list": "issues" }`, or a function from that id to the
   * name. `undefined` keeps the name.
   */
  rename?: Readonly<Record<string, string>> | ((id: string) => string | undefined);
  /** Namespace of all operations, which peers of other sources cannot use. @default the one that each operation has */
  namespace?: string;
  /**
   * Access rule of all operations. Replaces the rule of operations that are imported from OpenAPI or MCP. Operations of
   * modules and peers keep their rule, and this one is added: callers must satisfy both.
   */
  accessControl?: NonNullable<OperationDefaults["accessControl"]>;
  /**
   * Receives a report about imported and skipped operations and warnings: after loading, and after every change.
   * @default warnings in the log, and on the console until LogTape is configured
   */
  onReport?: (report: SourceReport) => void;
}

/** Options of `registry.waitFor()`. */
export interface WaitForOptions {
  /** Maximum time to wait, in ms, above 0; `Infinity` for no limit. @default 30,000 */
  timeout?: number;
  /** Ends the wait with `ABORTED`. */
  signal?: AbortSignal;
}

/** A source that a registry follows. */
export interface Following extends AsyncDisposable {
  /**
   * Stops following, removes the source's operations, ends their subscriptions with `UNAVAILABLE` and closes the source.
   * Running calls continue. It can be called more than once.
   */
  close(): Promise<void>;
}

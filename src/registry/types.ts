import type { OperationSource, SourceReport, Unsubscribe } from "../from/source.ts";
import type {
  AccessControl,
  CallArguments,
  CallError,
  CallsOf,
  Client,
  DataOf,
  Identity,
  IOperationDefinition,
  KnownOperations,
  Limits,
  OperationContext,
  OperationHandler,
  OperationSpec,
  OutputPolicy,
  Progress,
  ResponseEnvelope,
  SubscribeArguments,
  SubscriptionHandler,
  SubscriptionsOf,
} from "../operation/index.ts";
import type { ClientOptions } from "./client.ts";

/** What a `customAuth` function decides on. */
export interface CustomAuthCall<Input = unknown> {
  /** Who calls. */
  readonly identity?: Identity;
  /** The validated input. */
  readonly input: Input;
  /** Spec of the operation that is called. */
  readonly spec: OperationSpec;
  /** What the caller passed. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Decides whether a call is allowed; only `true` allows it. Named by `accessControl.customAuth`. */
export type CustomAuth<Input = unknown> = (call: CustomAuthCall<Input>) => boolean | Promise<boolean>;

/** How a registry treats its operations. */
export interface RegistryOptions {
  /** Functions that `accessControl.customAuth` names. A name that is missing here denies. */
  customAuth?: Record<string, CustomAuth>;
  /** What happens to output that does not fit, for operations that do not say. @default "cast" */
  outputPolicy?: OutputPolicy;
  /**
   * Time in ms for direct calls of queries and mutations that have neither `timeout` nor `deadline`. Calls inside handlers
   * have the time of the call around them, and calls that arrive by a server or transport that of the server. @default none
   */
  defaultTimeout?: number;
  /** Bounds on what one call may cost. @default those of `Limits` */
  limits?: Limits;
  /**
   * Whether the registry warns about output that differs from its schema and about operations that a source skips: through
   * LogTape, or with `console.warn` until LogTape is configured. Each warning is written once per operation and kind.
   * `onReport` of a source or of `follow` receives its report in place of the log. @default true
   */
  log?: boolean;
}

/** One run of an operation as middleware sees it. */
export interface MiddlewareCall {
  /** Id of the operation, `namespace.name`. */
  readonly operationId: string;
  /** Spec of the operation as it is registered. */
  readonly spec: OperationSpec;
  /** The validated input. */
  readonly input: unknown;
  /** What the handler receives beside the input. */
  readonly context: OperationContext;
  /**
   * Whether a handler of this registry makes the call. Only then `context.parentRequestId` is certain; in a call from a
   * network it is a claim of the caller.
   */
  readonly isNested: boolean;
}

/**
 * Wraps the run step, after access and input were checked. `next()` runs the rest and returns what the handler
 * returned: a value, an envelope, or an async iterable for subscriptions. What is returned here takes its place. When the
 * handler throws, `next()` rejects with the `CallError` that the caller would receive.
 */
export type Middleware = (call: MiddlewareCall, next: () => Promise<unknown>) => unknown;

/**
 * Chooses operations by id and by tag. A pattern is an id in which `*` stands for any characters, such as `"task.*"`, or
 * `"tag:"` and a tag, in which `*` means the same. Ids are those of the registry, after any renaming.
 */
export interface OperationSelection {
  /** Chooses the operations that match one of these. @default all */
  include?: readonly string[];
  /** Leaves out the operations that match one of these, also where `include` chooses them. @default none */
  exclude?: readonly string[];
}

/** What all call events have. */
export interface RegistryCallEventBase {
  /** Identifies the call. */
  requestId: string;
  /** The call whose handler made this one. */
  parentRequestId?: string;
  /** Id of the operation. */
  operationId: string;
  /** Who calls. */
  identity?: Identity;
  /** In milliseconds since the epoch. */
  timestamp: number;
}

/** Something that happened to a call. Inputs are not part of it. */
export type RegistryCallEvent =
  | (RegistryCallEventBase & { kind: "started" })
  | (RegistryCallEventBase & {
      kind: "progressed";
      /** What the handler reported. */
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
      /** What the caller received. */
      error: CallError;
    });

/** Something that happened to the set of operations. `spec` is the new one, or the last one when removed. */
export interface ChangeEvent {
  /** What happened to the operation. */
  kind: "added" | "changed" | "removed";
  /** Id of the operation. */
  operationId: string;
  /** The new spec, or the last one when removed. */
  spec: OperationSpec;
}

/** The events of a registry by name. */
export interface RegistryEvents {
  /** Something happened to a call. */
  call: RegistryCallEvent;
  /** An operation was added, changed or removed. */
  change: ChangeEvent;
}

/** An operation as the registry holds it: its spec, with its handler where there is one. */
export interface RegisteredOperation
  extends OperationSpec,
    Partial<Pick<IOperationDefinition, "handler" | "fillDefaults" | "nextPage">> {}

/** Which operations a search may return. All given parts must match. */
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
 * What `registry.follow()` does with the operations of a source. Options of the source itself choose what is read; these
 * apply to what it returned. `include` and `exclude` match the ids in the registry, after `rename` and `namespace`.
 */
export interface FollowOptions extends OperationSelection {
  /**
   * New names by the id that the source uses, such as `{ "github.issues/list": "issues" }`, or a function from that id to the
   * name. `undefined` keeps the name.
   */
  rename?: Readonly<Record<string, string>> | ((id: string) => string | undefined);
  /** Namespace of all operations. @default the one that each operation has */
  namespace?: string;
  /**
   * Access rule of all operations. Replaces the rule of operations that are imported from OpenAPI or MCP. Operations of
   * modules and peers keep their own rule, and this one is added: callers must meet both.
   */
  accessControl?: AccessControl;
  /**
   * Receives what was imported, skipped and warned about: after loading, and after every change what is new since then.
   * @default warnings in the log, and on the console until LogTape is configured
   */
  onReport?: (report: SourceReport) => void;
}

/** Limits of `registry.waitFor()`. */
export interface WaitForOptions {
  /** Maximum time to wait, in ms, above 0; `Infinity` for no limit. @default 30,000 */
  timeout?: number;
  /** Ends the wait with `ABORTED`. */
  signal?: AbortSignal;
}

/** A source that a registry follows. */
export interface Following extends AsyncDisposable {
  /** Stops following, removes the source's operations and closes the source. Calling it twice is fine. */
  close(): Promise<void>;
}

/**
 * Holds operations and runs them. `Known` is what the compiler knows of them: a registry made by `createRegistry`
 * checks ids, inputs and outputs; one made by `new OperationRegistry()` takes any id and returns `unknown`. The
 * first can be passed wherever the second is accepted.
 */
export interface OperationRegistry<Known extends KnownOperations = KnownOperations> extends AsyncDisposable {
  /** Never set; carries what the compiler knows. */
  readonly "~known"?: Known;

  /**
   * Adds an operation. Throws when its spec is malformed or its id is taken; the operation of a source that is followed
   * is replaced, and comes back when this one is removed.
   */
  register(definition: IOperationDefinition): void;
  /** Adds operations, all of them or, when one is refused, none. Those without a handler cannot run yet. */
  registerAll(definitions: Iterable<OperationSpec | IOperationDefinition>): void;
  /** Adds an operation that cannot run yet; `registerHandler` makes it run. The handler of a definition is ignored. */
  registerSpec(spec: OperationSpec): void;
  /** Sets the handler of the operation `id`. Throws when there is no such spec, or when it has a handler already. */
  registerHandler(id: string, handler: OperationHandler | SubscriptionHandler): void;
  /** Removes an operation; running calls continue. Returns whether it existed. */
  unregister(id: string): boolean;
  /** Replaces the operation with the same id, or adds it. Running calls keep the old one. */
  replace(definition: IOperationDefinition): void;

  /** Finds an operation by `namespace.name`. Also finds operations without a handler. */
  get(id: string): RegisteredOperation | undefined;
  /** Finds an operation by its two names. */
  getByName(namespace: string, name: string): RegisteredOperation | undefined;
  /** Finds the spec of an operation, without its handler. */
  getSpec(id: string): OperationSpec | undefined;
  /** Finds the handler of an operation. Calling it skips access rules, validation and the envelope. */
  getHandler(id: string): OperationHandler | SubscriptionHandler | undefined;
  /** Specs of all operations in the order they were added. */
  getAllSpecs(): OperationSpec[];
  /** All operations in the order they were added. */
  list(): RegisteredOperation[];
  /** Whether there is an operation `namespace.name`. */
  has(id: string): boolean;
  /**
   * Finds operations by plain words and returns their specs, best first. Any word may match; prefixes and plural forms
   * count. Words in the name and title weigh more than words in namespace, tags and description, and rare words more than
   * common ones. Equal results are in the order they were added. An empty query returns all operations in that order.
   */
  search(query: string, options?: SearchOptions): OperationSpec[];

  /**
   * Runs a query or mutation: checks access and input, runs the handler, wraps and normalises the result. Fails with
   * a `CallError`. The input may be left out where `{}` is valid. Where the registry knows nothing, `execute<T>(…)` sets
   * the type of the data.
   * @example
   * const { data } = await registry.execute("task.create", { title: "Ship it" }, { timeout: 5_000 });
   */
  execute<T = never, Id extends keyof CallsOf<Known> & string = keyof CallsOf<Known> & string>(
    id: Id,
    ...args: CallArguments<Known[Id]["input"]>
  ): Promise<ResponseEnvelope<DataOf<T, Known[Id]>>>;

  /**
   * Subscribes to an operation and yields an envelope for each of its values. The handler starts with the first `next()`;
   * leaving the loop ends it. An abort or a deadline throws. The input may be left out where `{}` is valid.
   * @example
   * for await (const { data } of registry.subscribe("task.changes")) console.log(data);
   */
  subscribe<T = never, Id extends keyof SubscriptionsOf<Known> & string = keyof SubscriptionsOf<Known> & string>(
    id: Id,
    ...args: SubscribeArguments<Known[Id]["input"]>
  ): AsyncIterableIterator<ResponseEnvelope<DataOf<T, Known[Id]>>> & AsyncDisposable;

  /**
   * Adds middleware around the run step, outermost first: of all operations, or of those that `selection` chooses, also
   * when they are registered later. Returns a function that removes it; calls that run keep it.
   */
  use(middleware: Middleware, selection?: OperationSelection): Unsubscribe;
  /** Listens to calls or changes. What a listener throws is logged, and affects no call and no other listener. */
  on<Name extends keyof RegistryEvents>(event: Name, listener: (event: RegistryEvents[Name]) => void): Unsubscribe;
  /**
   * Registers a source's operations and applies its changes until closed. What is registered here beats the source; an
   * operation whose id is taken is registered when the id gets free. Operations keep the order of the source; a changed one
   * keeps its place, and one that is added later is the last. When loading fails, so does this, and nothing is registered.
   * @example
   * await registry.follow(openAPISource("https://api.example.com/openapi.json", { namespace: "shop" }));
   */
  follow(source: OperationSource, options?: FollowOptions): Promise<Following>;
  /** Resolves when the operation `id` can be called. Fails with `TIMEOUT`, `ABORTED`, or `UNAVAILABLE` when the registry is closed. */
  waitFor(id: string, options?: WaitForOptions): Promise<void>;
  /**
   * Calls by name: `client.task.create(input)` returns the data. The options hold for every call.
   * @example
   * const task = await registry.client({ identity }).task.create({ title: "Ship it" });
   */
  client<K extends KnownOperations = Known>(options?: ClientOptions): Client<K>;

  /**
   * Stops following sources, which removes their operations and closes them, and refuses new calls with
   * `UNAVAILABLE`; running calls continue. Calling it twice is fine.
   */
  close(): Promise<void>;
}

import type { WarnOnce } from "../internal/log.ts";
import { copyProperty, copyWith, hasGetter } from "../internal/objects.ts";
import {
  type AccessControl,
  assertValidSpec,
  CallError,
  copySpec,
  formatOperationId,
  type Identity,
  type IOperationDefinition,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type OutputPolicy,
  type SubscriptionHandler,
  toPublicSpec,
} from "../operation/inside.ts";
import { type StandardValidate, toCallerView, toSchema } from "../schema/index.ts";
import type { CompiledOperation } from "./compiled-operation.ts";
import type { RegisteredOperation } from "./types.ts";

/** Properties of a handler that forwards calls to another registry. */
export interface Forwarding {
  /** The access rule that only the other registry checks, against the identity of the connection. Absent if both check it. */
  readonly checkedRule?: AccessControl | undefined;
  /** Whether the handler always returns envelopes. */
  readonly returnsEnvelopes?: boolean;
  /** The object that transports the calls. */
  readonly through?: object;
}

const forwardings = new WeakMap<object, Forwarding>();

/**
 * Marks a handler that only forwards calls to the pipeline of another registry: the input is validated there, its
 * envelopes are returned unchanged, and its errors are treated as errors of that pipeline.
 */
export function markAsForwarding(handler: OperationHandler | SubscriptionHandler, forwarding: Forwarding): void {
  forwardings.set(handler, forwarding);
}

/** Returns the properties of a forwarding handler; `undefined` for any other handler. */
export function forwardingOf(handler: object | undefined): Forwarding | undefined {
  return handler === undefined ? undefined : forwardings.get(handler);
}

/** The source of an operation. Operations that the program registered have none. */
export interface OperationOwner {
  /** Whether others choose the ids of its operations. */
  readonly isForeign: boolean;
  /** Whether they choose the namespaces too. */
  readonly hasForeignNamespaces: boolean;
  /** Called when its operation `waiting` is not registered, because `active` comes first. */
  onWaiting(waiting: OperationEntry, active: OperationEntry): void;
}

/** What an operation uses of its registry. */
interface Home {
  /** The output policy of specs without one. */
  readonly outputPolicy: OutputPolicy;
  /** Logs a warning, if the registry logs warnings. */
  readonly warn: WarnOnce;
}

/**
 * One registered operation. Small, because there may be many thousands. Everything that needs a compiled schema is in
 * {@link CompiledOperation}, which is created on the first call.
 */
export class OperationEntry {
  readonly id: string;
  readonly spec: OperationSpec;
  /** The source that offered the operation. Absent for operations of the program. */
  declare readonly owner?: OperationOwner;
  readonly isSubscription: boolean;
  /** Whether the operation requires scopes. */
  readonly demandsScopes: boolean;
  /** Whether the peer that serves the operation checks its access rule, so that it is not checked for calls of this process. */
  readonly isCheckedByPeer: boolean;
  /** Set later for an operation that was registered by its spec alone. */
  handler: OperationHandler | SubscriptionHandler | undefined;
  compiled: CompiledOperation | undefined = undefined;
  /** The copy of the identity that its scopes allowed last. */
  allowed: Identity | undefined = undefined;
  /** The registry of the operation. Set when it is registered. */
  home: Home | undefined = undefined;
  /** Whether defaults of the input are filled in. */
  readonly fillsDefaults: boolean;
  /** For a Standard Schema: converts the validated input to the input of the handler. */
  declare readonly validate?: StandardValidate;
  /** A getter in a definition is read on the first use. */
  declare readonly nextPage?: IOperationDefinition["nextPage"];
  #published: OperationSpec | undefined = undefined;

  constructor(id: string, definition: RegisteredOperation, owner?: OperationOwner) {
    this.id = id;
    if (owner !== undefined) this.owner = owner;
    this.isCheckedByPeer = forwardingOf(definition.handler)?.checkedRule === definition.accessControl;
    this.handler = definition.handler;
    this.fillsDefaults = definition.fillDefaults ?? true;
    copyProperty(definition, "nextPage", this);
    if (isLazy(definition)) {
      this.spec = copySpec(definition);
    } else {
      const input = toSchema(definition.inputSchema, "input", `inputSchema of "${id}"`);
      const output = toSchema(definition.outputSchema, "output", `outputSchema of "${id}"`);
      this.spec = copySpec(withErrorSchemas(definition, id), {
        inputSchema: input.schema,
        outputSchema: output.schema,
      });
      if (input.validate !== undefined) this.validate = input.validate;
    }
    this.isSubscription = this.spec.type === OperationType.SUBSCRIPTION;
    const { requiredScopes, requiredScopesAny } = this.spec.accessControl;
    this.demandsScopes = requiredScopes.length > 0 || requiredScopesAny !== undefined;
  }

  /** A frozen copy, so that a rule cannot change after the operation was registered. */
  get access(): AccessControl {
    return this.spec.accessControl;
  }

  /** Whether the operation has a resource rule or a `customAuth`. */
  get demandsResource(): boolean {
    const { resourceType, resourceAction, resourceId, customAuth } = this.access;
    return (
      resourceType !== undefined || resourceAction !== undefined || resourceId !== undefined || customAuth !== undefined
    );
  }

  /**
   * The spec that peers receive: with the caller's view of the input and the policy of the registry, and without `_meta`,
   * which may be internal.
   */
  get published(): OperationSpec {
    if (this.#published === undefined) {
      const spec = toPublicSpec(this.spec);
      if (this.fillsDefaults) spec.inputSchema = toCallerView(spec.inputSchema);
      // Importers would normalise again what this policy leaves as it is.
      if (this.home !== undefined && this.home.outputPolicy !== "cast") spec.outputPolicy ??= this.home.outputPolicy;
      this.#published = Object.freeze(spec);
    }
    return this.#published;
  }

  /** The operation as `list()` and `get()` return it. Lazy schemas are not read. */
  describe(): RegisteredOperation {
    const more: Partial<RegisteredOperation> = {};
    if (this.handler !== undefined) more.handler = this.handler;
    if (!this.fillsDefaults) more.fillDefaults = false;
    copyProperty(this, "nextPage", more);
    return copyWith(this.spec as RegisteredOperation, more);
  }
}

/** Returns whether a schema is a getter. Sources create such schemas on first access, so they must not be read early. */
function isLazy(definition: RegisteredOperation): boolean {
  return hasGetter(definition, "inputSchema") || hasGetter(definition, "outputSchema");
}

/** Checks error schemas, and converts those of other schema libraries, like those of input and output. */
function withErrorSchemas(definition: RegisteredOperation, id: string): RegisteredOperation {
  if (hasGetter(definition, "errorSchemas") || definition.errorSchemas === undefined) return definition;
  let isConverted = false;
  const errorSchemas = definition.errorSchemas.map((error) => {
    const { schema } = toSchema(error.schema, "output", `schema of the error ${error.code} of "${id}"`);
    if (schema === error.schema) return error;
    isConverted = true;
    return { ...error, schema };
  });
  return isConverted ? { ...definition, errorSchemas } : definition;
}

/** Creates the candidate of a definition. Throws a `CallError` if it is malformed. Only specs may lack a handler. */
export function createEntry(
  definition: RegisteredOperation,
  { needsHandler = true, owner }: { needsHandler?: boolean; owner?: OperationOwner } = {},
): OperationEntry {
  assertValidSpec(definition);
  const id = formatOperationId(definition.namespace, definition.name);
  if (needsHandler || definition.handler !== undefined) assertHandler(id, definition.handler, definition.type);
  return new OperationEntry(id, definition, owner);
}

/** Throws a `CallError` unless the handler fits the type of its operation. */
export function assertHandler(id: string, handler: unknown, type: OperationType): void {
  if (typeof handler !== "function") {
    throw malformed(
      `"${id}" has no handler. Add a handler function, or use registerSpec() now and registerHandler() later.`,
    );
  }
  const tag = (handler as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  const isGenerator = tag === "AsyncGeneratorFunction" || tag === "GeneratorFunction";
  if (isGenerator && type !== OperationType.SUBSCRIPTION) {
    throw malformed(
      `The handler of "${id}" is a generator function, which only subscriptions can have. Set its type to "subscription", or return the values in a list.`,
    );
  }
}

/** `VALIDATION_ERROR` for a definition that cannot be registered. */
export function malformed(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

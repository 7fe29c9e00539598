import type { WarnOnce } from "../internal/log.ts";
import { forwardGetter, hasGetter } from "../internal/shape.ts";
import {
  type AccessControl,
  copySpec,
  type IOperationDefinition,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
  toPublicSpec,
} from "../operation/index.ts";
import { isStandardSchema, type StandardValidate, toCallerView, toSchema } from "../schema/index.ts";
import type { CompiledOperation } from "./compiled-operation.ts";

/** What a handler that forwards calls to another registry knows about the steps that run there. */
export interface Forwarding {
  /** The rule that the other registry checks itself, against the identity of the connection. Absent where both check. */
  readonly checkedRule?: AccessControl | undefined;
  /** Whether everything that the handler returns is known to be an envelope. */
  readonly returnsEnvelopes?: boolean;
  /** What carries the calls. */
  readonly through?: object;
}

const forwardings = new WeakMap<object, Forwarding>();

/**
 * Marks a handler that only forwards calls to the pipeline of another registry: the input is validated there, its
 * envelopes stay as they are, and its errors count as errors of that pipeline.
 */
export function markAsForwarding(handler: OperationHandler | SubscriptionHandler, forwarding: Forwarding): void {
  forwardings.set(handler, forwarding);
}

/** What is known about a handler that forwards calls; `undefined` for all others. */
export function forwardingOf(handler: object | undefined): Forwarding | undefined {
  return handler === undefined ? undefined : forwardings.get(handler);
}

const ignore: WarnOnce = () => {};

/** What can be registered: a definition, or a spec that receives its handler later. */
export type Registrable = OperationSpec & Partial<Pick<IOperationDefinition, "handler" | "fillDefaults" | "nextPage">>;

/** Properties that few operations have. */
interface Extras {
  fillDefaults: boolean | undefined;
  nextPage?: IOperationDefinition["nextPage"];
  validate: StandardValidate | undefined;
}

/**
 * One registered operation. Small, because there may be many thousands: whatever needs a compiled schema is in
 * {@link CompiledOperation}, made on the first call.
 */
export class OperationEntry {
  readonly id: string;
  readonly spec: OperationSpec;
  readonly isSubscription: boolean;
  /** Whether the scopes step has anything to check. */
  readonly demandsScopes: boolean;
  /** Whether the peer that serves the operation checks its access rule, so that calls of this process need not meet it. */
  readonly isCheckedByPeer: boolean;
  /** Set later for an operation that was registered by its spec alone. */
  handler: OperationHandler | SubscriptionHandler | undefined;
  compiled: CompiledOperation | undefined = undefined;
  /** Warns about the operation, as its registry is configured. Set when it is registered. */
  warn: WarnOnce = ignore;
  readonly #extras: Extras | undefined;
  #published: OperationSpec | undefined = undefined;

  constructor(id: string, definition: Registrable) {
    let validate: StandardValidate | undefined;
    this.id = id;
    this.isSubscription = definition.type === OperationType.SUBSCRIPTION;
    this.isCheckedByPeer = forwardingOf(definition.handler)?.checkedRule === definition.accessControl;
    this.handler = definition.handler;
    if (isLazy(definition)) {
      this.spec = copySpec(definition);
    } else {
      const input = toSchema(definition.inputSchema, "input", `inputSchema of "${id}"`);
      const output = toSchema(definition.outputSchema, "output", `outputSchema of "${id}"`);
      this.spec = copySpec(withErrorSchemas(definition, id), {
        inputSchema: input.schema,
        outputSchema: output.schema,
      });
      validate = input.validate;
    }
    const { requiredScopes, requiredScopesAny } = this.spec.accessControl;
    this.demandsScopes = requiredScopes.length > 0 || requiredScopesAny !== undefined;
    this.#extras = toExtras(definition, validate);
  }

  /** A frozen copy, so that a rule cannot change after the operation was registered. */
  get access(): AccessControl {
    return this.spec.accessControl;
  }

  /** Whether the resource step has anything to check. */
  get demandsResource(): boolean {
    const { resourceType, resourceAction, resourceId, customAuth } = this.access;
    return (
      resourceType !== undefined || resourceAction !== undefined || resourceId !== undefined || customAuth !== undefined
    );
  }

  get fillsDefaults(): boolean {
    return this.#extras?.fillDefaults ?? true;
  }

  get nextPage(): IOperationDefinition["nextPage"] {
    return this.#extras?.nextPage;
  }

  /** Of a Standard Schema: what turns the validated input into what the handler receives. */
  get validate(): StandardValidate | undefined {
    return this.#extras?.validate;
  }

  /** The spec as peers see it: with what a caller must satisfy, and without `_meta`, which may be internal. */
  get published(): OperationSpec {
    if (this.#published === undefined) {
      const spec = toPublicSpec(this.spec);
      if (this.fillsDefaults) spec.inputSchema = toCallerView(spec.inputSchema);
      this.#published = Object.freeze(spec);
    }
    return this.#published;
  }

  /** The operation as `list()` and `get()` return it. Schemas that are made when they are read stay unread. */
  describe(): Registrable {
    const { spec, handler } = this;
    const pages = this.#extras && Object.getOwnPropertyDescriptor(this.#extras, "nextPage");
    const shown: Registrable = Object.create(null, Object.getOwnPropertyDescriptors(spec));
    Object.setPrototypeOf(shown, Object.prototype);
    if (handler !== undefined) Object.defineProperty(shown, "handler", { value: handler, enumerable: true });
    if (!this.fillsDefaults) Object.defineProperty(shown, "fillDefaults", { value: false, enumerable: true });
    if (pages !== undefined) Object.defineProperty(shown, "nextPage", pages);
    return shown;
  }
}

/** Whether the schemas are getters: sources make schemas on first access, and they must not be read before that. */
function isLazy(definition: Registrable): boolean {
  return hasGetter(definition, "inputSchema") || hasGetter(definition, "outputSchema");
}

/** Converts the error schemas that were written in a schema library, as those of input and output are. */
function withErrorSchemas(definition: Registrable, id: string): Registrable {
  if (hasGetter(definition, "errorSchemas") || definition.errorSchemas === undefined) return definition;
  if (!definition.errorSchemas.some(({ schema }) => isStandardSchema(schema))) return definition;
  const errorSchemas = definition.errorSchemas.map((error) => {
    const { schema } = toSchema(error.schema, "output", `schema of the error ${error.code} of "${id}"`);
    return { ...error, schema };
  });
  return { ...definition, errorSchemas };
}

function toExtras(definition: Registrable, validate: StandardValidate | undefined): Extras | undefined {
  const { fillDefaults } = definition;
  const isLazyPage = hasGetter(definition, "nextPage");
  const nextPage = isLazyPage ? undefined : definition.nextPage;
  if (fillDefaults === undefined && nextPage === undefined && validate === undefined && !isLazyPage) return undefined;
  const extras: Extras = { fillDefaults, validate };
  if (isLazyPage) forwardGetter(definition, "nextPage", extras);
  else if (nextPage !== undefined) extras.nextPage = nextPage;
  return extras;
}

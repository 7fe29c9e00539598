import type { TSchema } from "typebox";
import {
  type AccessControl,
  type ErrorDefinition,
  type IOperationDefinition,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../operation/index.ts";
import { type StandardValidate, toCallerView, toSchema } from "../schema/index.ts";
import { passedOnOf } from "./passed-on.ts";
import type { Prepared } from "./prepared.ts";

/** What can be registered: a definition, or a spec that gets its handler later. */
export type Registrable = OperationSpec & Partial<Pick<IOperationDefinition, "handler" | "fillDefaults" | "nextPage">>;

/** What few operations have. */
interface Extras {
  fillDefaults: boolean | undefined;
  nextPage?: IOperationDefinition["nextPage"];
  validate: StandardValidate | undefined;
}

/**
 * One registered operation. Small, because there may be many thousands: whatever needs a compiled schema is in
 * {@link Prepared}, made on the first call.
 */
export class Entry {
  readonly id: string;
  readonly spec: OperationSpec;
  /** Whether the scopes step has anything to check. */
  readonly demandsScopes: boolean;
  /** Whether a peer checks the rule, for whom the connection stands: it need not be met here by calls of this process. */
  readonly isCheckedByPeer: boolean;
  /** Set later for an operation that was registered by its spec alone. */
  handler: OperationHandler | SubscriptionHandler | undefined;
  prepared: Prepared | undefined = undefined;
  readonly #extras: Extras | undefined;
  #published: OperationSpec | undefined = undefined;

  constructor(id: string, definition: Registrable) {
    const access = freezeAccess(definition.accessControl);
    let validate: StandardValidate | undefined;
    this.id = id;
    this.demandsScopes = access.requiredScopes.length > 0 || access.requiredScopesAny !== undefined;
    this.isCheckedByPeer = passedOnOf(definition.handler)?.checkedRule === definition.accessControl;
    this.handler = definition.handler;
    if (isLazy(definition)) {
      this.spec = toLazySpec(definition, access);
    } else {
      const input = toSchema(definition.inputSchema, "input", `inputSchema of "${id}"`);
      const output = toSchema(definition.outputSchema, "output", `outputSchema of "${id}"`);
      this.spec = toSpec(definition, access, input.schema, output.schema);
      validate = input.validate;
    }
    this.#extras = toExtras(definition, validate);
  }

  get isSubscription(): boolean {
    return this.spec.type === OperationType.SUBSCRIPTION;
  }

  /** A frozen copy of what was registered: rules cannot be changed behind the registry's back. */
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

  /** Of a Standard Schema: what turns the checked input into what the handler gets. */
  get validate(): StandardValidate | undefined {
    return this.#extras?.validate;
  }

  /** The spec as peers see it: what a caller must satisfy, and no `_meta`, which may hold what is internal. */
  get published(): OperationSpec {
    if (this.#published === undefined) {
      const { _meta, ...spec } = this.spec;
      if (this.fillsDefaults) spec.inputSchema = toCallerView(spec.inputSchema);
      this.#published = Object.freeze(spec);
    }
    return this.#published;
  }

  /** The operation as `list()` and `get()` show it. Reads no schema that has not been read. */
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

/** Sources make their schemas on first access: getters, which must not be read before they are needed. */
function isLazy(definition: Registrable): boolean {
  return hasGetter(definition, "inputSchema") || hasGetter(definition, "outputSchema");
}

function hasGetter(definition: Registrable, key: keyof Registrable): boolean {
  return Object.getOwnPropertyDescriptor(definition, key)?.get !== undefined;
}

function toExtras(definition: Registrable, validate: StandardValidate | undefined): Extras | undefined {
  const { fillDefaults } = definition;
  const isLate = hasGetter(definition, "nextPage");
  const nextPage = isLate ? undefined : definition.nextPage;
  if (fillDefaults === undefined && nextPage === undefined && validate === undefined && !isLate) return undefined;
  const extras: Extras = { fillDefaults, validate };
  if (isLate) passOn(definition, "nextPage", extras);
  else if (nextPage !== undefined) extras.nextPage = nextPage;
  return extras;
}

/** Lets a property be made when it is read here, as it would be there. */
function passOn(definition: Registrable, key: keyof Registrable, target: object): void {
  Object.defineProperty(target, key, { get: () => definition[key], enumerable: true, configurable: true });
}

function toSpec(definition: Registrable, accessControl: AccessControl, inputSchema: TSchema, outputSchema: TSchema) {
  const { namespace, name, version, type, description } = definition;
  const spec = { namespace, name, version, type, description, inputSchema, outputSchema, accessControl };
  return addOptional(spec, definition);
}

function toLazySpec(definition: Registrable, accessControl: AccessControl): OperationSpec {
  const { namespace, name, version, type, description } = definition;
  const spec: OperationSpec = {
    namespace,
    name,
    version,
    type,
    description,
    get inputSchema() {
      return definition.inputSchema;
    },
    get outputSchema() {
      return definition.outputSchema;
    },
    accessControl,
  };
  return addOptional(spec, definition);
}

function addOptional(spec: OperationSpec, definition: Registrable): OperationSpec {
  if (definition.title !== undefined) spec.title = definition.title;
  if (definition.tags !== undefined) spec.tags = Object.freeze([...definition.tags]) as string[];
  if (hasGetter(definition, "errorSchemas")) passOn(definition, "errorSchemas", spec);
  else if (definition.errorSchemas !== undefined) {
    spec.errorSchemas = Object.freeze(
      definition.errorSchemas.map((one) => Object.freeze({ ...one })),
    ) as ErrorDefinition[];
  }
  if (definition.idempotent !== undefined) spec.idempotent = definition.idempotent;
  if (definition.outputPolicy !== undefined) spec.outputPolicy = definition.outputPolicy;
  if (hasGetter(definition, "_meta")) passOn(definition, "_meta", spec);
  else if (definition._meta !== undefined) spec._meta = Object.freeze({ ...definition._meta });
  return Object.freeze(spec);
}

function freezeAccess(access: AccessControl): AccessControl {
  // No spread: a frozen object that was made by one takes three times the memory.
  const copy: AccessControl = { requiredScopes: freezeList(access.requiredScopes) };
  if (access.requiredScopesAny !== undefined) copy.requiredScopesAny = freezeList(access.requiredScopesAny);
  if (access.resourceType !== undefined) copy.resourceType = access.resourceType;
  if (access.resourceAction !== undefined) copy.resourceAction = access.resourceAction;
  if (access.resourceId !== undefined) copy.resourceId = access.resourceId;
  if (access.customAuth !== undefined) copy.customAuth = access.customAuth;
  return Object.freeze(copy);
}

function freezeList(list: readonly string[]): string[] {
  return Object.freeze(list.slice()) as string[];
}

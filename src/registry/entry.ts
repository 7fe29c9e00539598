import type { TSchema } from "typebox";
import {
  type AccessControl,
  type IOperationDefinition,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../operation/index.ts";
import { type StandardValidate, toSchema } from "../schema/index.ts";
import type { Prepared } from "./prepared.ts";

/** What can be registered: a definition, or a spec that gets its handler later. */
export type Registrable = OperationSpec & Partial<Pick<IOperationDefinition, "handler" | "fillDefaults" | "nextPage">>;

/** One registered operation. Small: whatever needs a compiled schema is in {@link Prepared}, made on the first call. */
export class Entry {
  readonly id: string;
  readonly spec: OperationSpec;
  readonly isSubscription: boolean;
  /** A frozen copy: rules cannot be changed behind the registry's back. */
  readonly access: AccessControl;
  /** Whether the scopes step has anything to check. */
  readonly demandsScopes: boolean;
  /** Whether the resource step has anything to check. */
  readonly demandsResource: boolean;
  readonly fillsDefaults: boolean;
  readonly nextPage: IOperationDefinition["nextPage"];
  readonly handler: OperationHandler | SubscriptionHandler | undefined;
  /** Of a Standard Schema: what turns the checked input into what the handler gets. */
  readonly validate: StandardValidate | undefined;
  prepared: Prepared | undefined = undefined;
  readonly #definition: Registrable;

  constructor(id: string, definition: Registrable, handler = definition.handler) {
    const access = freezeAccess(definition.accessControl);
    this.id = id;
    this.isSubscription = definition.type === OperationType.SUBSCRIPTION;
    this.access = access;
    this.demandsScopes = access.requiredScopes.length > 0 || access.requiredScopesAny !== undefined;
    this.demandsResource =
      access.resourceType !== undefined || access.resourceAction !== undefined || access.customAuth !== undefined;
    this.fillsDefaults = definition.fillDefaults ?? true;
    this.nextPage = definition.nextPage;
    this.handler = handler;
    this.#definition = definition;
    if (isLazy(definition)) {
      this.validate = undefined;
      this.spec = toLazySpec(definition, access);
    } else {
      const input = toSchema(definition.inputSchema, "input", `inputSchema of "${id}"`);
      const output = toSchema(definition.outputSchema, "output", `outputSchema of "${id}"`);
      this.validate = input.validate;
      this.spec = toSpec(definition, access, input.schema, output.schema);
    }
  }

  /** The same operation with a handler. */
  withHandler(handler: OperationHandler | SubscriptionHandler): Entry {
    return new Entry(this.id, this.#definition, handler);
  }

  /** The operation as `list()` and `get()` show it. Reads no schema that has not been read. */
  describe(): Registrable {
    const { spec, handler, nextPage } = this;
    const shown: Registrable = Object.create(null, Object.getOwnPropertyDescriptors(spec));
    Object.setPrototypeOf(shown, Object.prototype);
    if (handler !== undefined) Object.defineProperty(shown, "handler", { value: handler, enumerable: true });
    if (!this.fillsDefaults) Object.defineProperty(shown, "fillDefaults", { value: false, enumerable: true });
    if (nextPage !== undefined) Object.defineProperty(shown, "nextPage", { value: nextPage, enumerable: true });
    return shown;
  }
}

/** Sources make their schemas on first access: getters, which must not be read before they are needed. */
function isLazy(definition: Registrable): boolean {
  return (
    Object.getOwnPropertyDescriptor(definition, "inputSchema")?.get !== undefined ||
    Object.getOwnPropertyDescriptor(definition, "outputSchema")?.get !== undefined
  );
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
  if (definition.tags !== undefined) spec.tags = definition.tags;
  if (definition.errorSchemas !== undefined) spec.errorSchemas = definition.errorSchemas;
  if (definition.idempotent !== undefined) spec.idempotent = definition.idempotent;
  if (definition.outputPolicy !== undefined) spec.outputPolicy = definition.outputPolicy;
  if (definition._meta !== undefined) spec._meta = definition._meta;
  return Object.freeze(spec);
}

function freezeAccess(access: AccessControl): AccessControl {
  const copy: AccessControl = { ...access, requiredScopes: Object.freeze([...access.requiredScopes]) as string[] };
  if (access.requiredScopesAny !== undefined) {
    copy.requiredScopesAny = Object.freeze([...access.requiredScopesAny]) as string[];
  }
  return Object.freeze(copy);
}

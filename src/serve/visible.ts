import { BoundedMap } from "../internal/bounded.ts";
import { nearest } from "../internal/nearest.ts";
import { type AccessControl, checkScopes, formatOperationId, type Identity, toIdentity } from "../operation/index.ts";
import {
  createSelector,
  type OperationEntry,
  type OperationSelection,
  type RegistryCore,
  type SearchOptions,
  type Selector,
} from "../registry/index.ts";

/** Maximum number of different sets of visible operations whose lists and documents are kept. */
const maxSets = 32;

/** An operation that a server offers. `spec` is the registered spec, and `published` the one that callers may see. */
export type ServedOperation = OperationEntry;

/** The operations that some callers see: those with the same satisfied access rules. Never changes. */
export class VisibleSet {
  /** In the order of the registry. */
  readonly operations: readonly ServedOperation[];
  readonly #byId: ReadonlyMap<string, ServedOperation>;
  readonly #derived = new Map<unknown, unknown>();

  constructor(operations: readonly ServedOperation[]) {
    this.operations = operations;
    this.#byId = new Map(operations.map((operation) => [operation.id, operation]));
  }

  /** Finds an operation of the set. */
  get(id: string): ServedOperation | undefined {
    return this.#byId.get(id);
  }

  /** Returns the id that was probably meant, which is one of the set. */
  nearest(id: string): string | undefined {
    return nearest(id, this.#byId.keys());
  }

  /**
   * Returns a value that depends only on the operations of the set, such as a document. It is created once for each `key`
   * and shared by all callers who see this set.
   */
  derive<T>(key: object | string, create: (set: VisibleSet) => T): T {
    if (!this.#derived.has(key)) this.#derived.set(key, create(this));
    return this.#derived.get(key) as T;
  }
}

/** Operations with the same scope rule. A caller sees all of them or none. */
interface RuleGroup {
  readonly access: AccessControl;
  readonly operations: ServedOperation[];
}

/** The operations that a server offers at one moment. */
interface Offer {
  readonly byId: ReadonlyMap<string, ServedOperation>;
  readonly groups: readonly RuleGroup[];
  /** Sets by the rules that their callers satisfy. Two callers share a set only if they satisfy the same rules. */
  readonly sets: BoundedMap<string, VisibleSet>;
}

/**
 * The operations that a server offers, and which of them an identity sees: those whose scope rule it satisfies. Resource
 * rules and `customAuth` depend on the input and are checked when the operation is called. Lists, documents, search
 * results and suggestions of all servers are created from here.
 */
export class VisibleOperations {
  readonly #core: RegistryCore;
  readonly #selects: Selector;
  readonly #stop: () => void;
  #offer: Offer | undefined = undefined;
  #version = 0;

  /** @param selection - the operations that the server offers, by `include` and `exclude` */
  constructor(core: RegistryCore, selection: OperationSelection) {
    this.#core = core;
    this.#selects = createSelector(selection);
    this.#stop = core.changes.on(() => {
      this.#version += 1;
      this.#offer = undefined;
    });
  }

  /** Changes whenever an operation of the registry is added, changed or removed. */
  get version(): number {
    return this.#version;
  }

  /** All operations that the server offers: the selected ones that have a handler. Do not show them to callers. */
  all(): Iterable<ServedOperation> {
    return this.#current().byId.values();
  }

  /** Finds an operation that the server offers, even if the caller does not see it. */
  get(id: string): ServedOperation | undefined {
    return this.#current().byId.get(id);
  }

  /** Returns the operations that an identity sees; `undefined` is a caller without an identity. */
  for(identity: Identity | undefined): VisibleSet {
    const reader = toIdentity(identity);
    const { byId, groups, sets } = this.#current();
    const satisfied = groups.map(({ access }) => checkScopes(access, reader) === true);
    const key = satisfied.map(Number).join("");
    let set = sets.get(key);
    if (set === undefined) {
      const seen = new Set(groups.filter((_, index) => satisfied[index]).flatMap(({ operations }) => operations));
      set = new VisibleSet(Array.from(byId.values()).filter((operation) => seen.has(operation)));
    }
    sets.set(key, set); // Again, so that sets in use stay in the map.
    return set;
  }

  /** Searches the operations that an identity sees, and returns them, best first. */
  search(
    query: string,
    identity: Identity | undefined,
    { limit = Number.POSITIVE_INFINITY, ...filters }: Omit<SearchOptions, "identity"> = {},
  ): ServedOperation[] {
    const set = this.for(identity);
    const specs = this.#core.search(query, { ...filters, identity: identity ?? null });
    const found = specs.flatMap(({ namespace, name }) => set.get(formatOperationId(namespace, name)) ?? []);
    return found.slice(0, limit);
  }

  /** Stops following the registry. */
  close(): void {
    this.#stop();
  }

  #current(): Offer {
    this.#offer ??= this.#createOffer();
    return this.#offer;
  }

  #createOffer(): Offer {
    const byId = new Map<string, ServedOperation>();
    const groups = new Map<string, RuleGroup>();
    for (const operation of this.#core.operations.values()) {
      if (operation.handler === undefined || !this.#selects(operation)) continue;
      byId.set(operation.id, operation);
      const { access } = operation;
      const rule = JSON.stringify([access.requiredScopes, access.requiredScopesAny]);
      const group = groups.get(rule);
      if (group === undefined) groups.set(rule, { access, operations: [operation] });
      else group.operations.push(operation);
    }
    return { byId, groups: [...groups.values()], sets: new BoundedMap(maxSets) };
  }
}

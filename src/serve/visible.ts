import { BoundedMap } from "../internal/bounded.ts";
import { nearest } from "../internal/nearest.ts";
import {
  type AccessControl,
  type CallError,
  checkScopes,
  formatOperationId,
  type Identity,
  notServedNow,
  operationNotFound,
  toIdentity,
} from "../operation/inside.ts";
import {
  createSelector,
  type OperationEntry,
  type OperationSelection,
  type RegistryCore,
  type SearchOptions,
  type Selector,
} from "../registry/inside.ts";

/** Maximum number of different sets of visible operations whose lists and documents are kept. */
const maxSets = 32;

/** An operation that a server offers. `spec` is the registered spec, and `published` the one that callers may see. */
export type ServedOperation = OperationEntry;

/** Operations that some callers see, or that a server offers. Never changes. */
export class VisibleSet {
  /** In the order of the registry. */
  readonly operations: readonly ServedOperation[];
  readonly #byId: ReadonlyMap<string, ServedOperation>;
  readonly #derived = new Map<string, unknown>();

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
   * Returns a value that depends only on the operations of the set, such as a document. It is created once for each `key`,
   * and shared by all callers who see this set.
   */
  derive<T>(key: string, create: (set: VisibleSet) => T): T {
    if (!this.#derived.has(key)) this.#derived.set(key, create(this));
    return this.#derived.get(key) as T;
  }
}

/** The operations that a server offers at one moment. */
interface Offer {
  readonly all: VisibleSet;
  /** The scope rules of the operations, by their JSON. A caller sees all operations with the same rule, or none. */
  readonly rules: ReadonlyMap<string, AccessControl>;
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
  #offer: Offer | undefined = undefined;
  /** Stops following the registry. */
  readonly close: () => void;

  /**
   * @param selection - the operations that the server offers, by `include` and `exclude`
   * @param onChange - called when operations have changed
   */
  constructor(core: RegistryCore, selection: OperationSelection, onChange = () => {}) {
    this.#core = core;
    this.#selects = createSelector(selection);
    this.close = core.changes.on(() => {
      this.#offer = undefined;
      onChange();
    });
  }

  /** All operations that the server offers: the selected ones that have a handler. Do not show them to callers. */
  get all(): VisibleSet {
    return this.#current().all;
  }

  /** Returns the operations that an identity sees; `undefined` is a caller without an identity. */
  for(identity: Identity | undefined): VisibleSet {
    const reader = toIdentity(identity);
    const { all, rules, sets } = this.#current();
    const satisfied = new Set([...rules.keys()].filter((rule) => checkScopes(rules.get(rule)!, reader) === true));
    const key = [...satisfied].join();
    const set =
      sets.get(key) ?? new VisibleSet(all.operations.filter(({ access }) => satisfied.has(formatRule(access))));
    sets.set(key, set); // Again, so that sets in use stay in the map.
    return set;
  }

  /** Creates the error for an operation that is not offered: its source may be connecting, or it does not exist. */
  notFound(id: string, identity: Identity | undefined): CallError {
    return this.#core.mayAppear(id) ? notServedNow(id) : operationNotFound(id, this.for(identity).nearest(id));
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

  #current(): Offer {
    if (this.#offer === undefined) {
      const offered = Array.from(this.#core.operations.values()).filter(
        (operation) => operation.handler !== undefined && this.#selects(operation),
      );
      const rules = new Map(offered.map(({ access }) => [formatRule(access), access]));
      this.#offer = { all: new VisibleSet(offered), rules, sets: new BoundedMap(maxSets) };
    }
    return this.#offer;
  }
}

function formatRule({ requiredScopes, requiredScopesAny }: AccessControl): string {
  return JSON.stringify([requiredScopes, requiredScopesAny]);
}

import type { OperationSource, SourceChange, SourceLoadOptions, Unsubscribe } from "../from/source.ts";
import { createGlobs } from "../internal/globs.ts";
import { copyWith, getOwn } from "../internal/objects.ts";
import { type AccessControl, formatOperationId, type IOperationDefinition } from "../operation/index.ts";
import type { FollowOptions } from "../registry/index.ts";
import type { HubRule, SourceOptions } from "./config.ts";

/** A source whose operations satisfy the rules of the hub. Follow `source` with `options`. */
export interface RuledSource {
  /** The source with its access rules tightened and without denied operations. */
  readonly source: OperationSource;
  /** The options of `registry.follow`. */
  readonly options: FollowOptions;
  /** Applies other rules without loading the source again. Operations change as if the source had changed them. */
  setRules(rules: readonly HubRule[]): void;
}

/**
 * Applies the access rule of a source and the rules of the hub. The operations of a source require the scope `name` unless
 * `accessControl` is set. All matching rules apply: they add scopes or remove the operation, and never allow more. A
 * rule matches the ids before and after `rename` and `namespace`, so that a new name does not escape it.
 */
export function applyRules(
  source: OperationSource,
  rules: readonly HubRule[],
  { name, ...options }: SourceOptions & { name: string },
): RuledSource {
  const { include, exclude, rename, namespace, accessControl = { requiredScopes: [name] } } = options;
  const follow: FollowOptions = { accessControl };
  if (include !== undefined) follow.include = include;
  if (exclude !== undefined) follow.exclude = exclude;
  if (rename !== undefined) follow.rename = rename;
  if (namespace !== undefined) follow.namespace = namespace;
  const restricted = new RestrictedSource(source, rules, follow);
  return { source: restricted, options: follow, setRules: (next) => restricted.setRules(next) };
}

/** A rule with compiled patterns. */
interface Restriction extends Omit<HubRule, "match"> {
  readonly matches: (id: string) => boolean;
}

/**
 * Applies rules to the operations that another source returns. It also applies the `accessControl` of a source that
 * replaces access rules, because `follow()` would replace the scopes that rules have added.
 */
class RestrictedSource implements OperationSource {
  readonly name: string;
  readonly definesRoutes: boolean;
  readonly yields: boolean;
  readonly #inner: OperationSource;
  readonly #options: FollowOptions;
  #rules: readonly Restriction[];
  /** All operations of the source, denied ones included, by their id in the source. */
  readonly #operations = new Map<string, IOperationDefinition>();
  readonly #listeners = new Set<(change: SourceChange) => void>();

  constructor(inner: OperationSource, rules: readonly HubRule[], options: FollowOptions) {
    this.name = inner.name;
    this.definesRoutes = inner.definesRoutes === true;
    this.yields = inner.yields === true;
    this.#inner = inner;
    this.#options = options;
    this.#rules = rules.map(toRestriction);
  }

  async load(options?: SourceLoadOptions): Promise<IOperationDefinition[]> {
    const definitions = await this.#inner.load(options);
    this.#operations.clear();
    return this.#restrictAll(definitions).allowed;
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    this.#listeners.add(listener);
    const stop = this.#inner.onChange?.(({ added, changed, removed }) => {
      for (const id of removed) this.#operations.delete(id);
      const [first, second] = [this.#restrictAll(added), this.#restrictAll(changed)];
      const denied = [...first.denied, ...second.denied];
      listener({ added: first.allowed, changed: second.allowed, removed: [...removed, ...denied] });
    });
    return () => {
      this.#listeners.delete(listener);
      stop?.();
    };
  }

  isIncomplete(operationId: string): boolean {
    return this.#inner.isIncomplete?.(operationId) ?? false;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  setRules(rules: readonly HubRule[]): void {
    this.#rules = rules.map(toRestriction);
    const { allowed, denied } = this.#restrictAll([...this.#operations.values()]);
    for (const listener of this.#listeners) listener({ added: [], changed: allowed, removed: denied });
  }

  #restrictAll(definitions: readonly IOperationDefinition[]): { allowed: IOperationDefinition[]; denied: string[] } {
    const allowed: IOperationDefinition[] = [];
    const denied: string[] = [];
    for (const definition of definitions) {
      const id = formatOperationId(definition.namespace, definition.name);
      this.#operations.set(id, definition);
      const restricted = this.#restrict(id, definition);
      if (restricted === undefined) denied.push(id);
      else allowed.push(restricted);
    }
    return { allowed, denied };
  }

  /** Returns the operation with the scopes of all matching rules; `undefined` if one of them denies it. */
  #restrict(id: string, definition: IOperationDefinition): IOperationDefinition | undefined {
    const ids = this.#idsOf(id, definition);
    const matching = this.#rules.filter(
      ({ type, matches }) => (type === undefined || type === definition.type) && ids.some(matches),
    );
    if (matching.some(({ deny }) => deny === true)) return undefined;
    const replaces = this.#inner.replacesAccess === true;
    const access: AccessControl = replaces ? this.#options.accessControl! : definition.accessControl;
    // The registry refuses an operation with a malformed access rule.
    if (!Array.isArray(access?.requiredScopes) || (matching.length === 0 && !replaces)) return definition;
    const added = matching.flatMap(({ requiredScopes }) => requiredScopes ?? []);
    const requiredScopes = [...new Set([...access.requiredScopes, ...added])];
    return copyWith(definition, { accessControl: { ...access, requiredScopes } });
  }

  /** Returns the ids that rules match: the names and namespaces before and after renaming, in every combination. */
  #idsOf(id: string, { namespace, name }: IOperationDefinition): string[] {
    const { namespace: newNamespace = namespace, rename } = this.#options;
    const renamed = getOwn(rename, id);
    const names = typeof renamed === "string" ? [name, renamed] : [name];
    const namespaces = newNamespace === namespace ? [namespace] : [namespace, newNamespace];
    return namespaces.flatMap((one) => names.map((other) => formatOperationId(one, other)));
  }
}

function toRestriction({ match, ...rule }: HubRule): Restriction {
  return { ...rule, matches: createGlobs([match]) };
}

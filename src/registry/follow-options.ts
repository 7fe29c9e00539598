import type { ReportBuilder } from "../from/report.ts";
import type { OperationSource, SourceTraits } from "../from/source.ts";
import { nearest } from "../internal/nearest.ts";
import { copyWith, getOwn, isObject } from "../internal/objects.ts";
import { describeValue, quote } from "../internal/text.ts";
import {
  type AccessControl,
  CallError,
  formatOperationId,
  type IOperationDefinition,
  namespacePattern,
  type OperationSpec,
  toAccessControl,
} from "../operation/inside.ts";
import { createMatcher, createSelector, type Selector } from "./selection.ts";
import type { FollowOptions } from "./types.ts";

const patternHint = 'Patterns match ids in the registry, names without namespace, and "tag:" with a tag.';

/** Restricts operations in addition to the options of `follow()`. */
export interface AdapterHooks {
  /**
   * Returns the scopes that an operation requires in addition, or `undefined` if it must not be registered. `ids` are its
   * ids before and after renaming.
   */
  restrict?(spec: OperationSpec, ids: readonly string[]): readonly string[] | undefined;
  /** Whether several sources share the options, so that an option without an effect on one of them is not reported. */
  readonly sharesOptions?: boolean | undefined;
}

/** Applies the options of `follow()` to the operations of a source. */
export class SourceAdapter {
  readonly #options: FollowOptions;
  readonly #hooks: AdapterHooks;
  readonly #selects: Selector;
  readonly #access: AccessControl | undefined;
  readonly #traits: SourceTraits;
  readonly #reportsUnused: boolean;
  /** The patterns that have not matched an operation, until the source is loaded. */
  #unused: Array<{ option: "include" | "exclude"; pattern: string; matches: Selector }> = [];

  /** Throws a `TypeError` or a `CallError` for an invalid option. */
  constructor(source: OperationSource, options: FollowOptions, hooks: AdapterHooks) {
    const { rename, namespace, accessControl } = options;
    if (rename !== undefined && typeof rename !== "function" && (typeof rename !== "object" || rename === null)) {
      throw new TypeError('"rename" must be an object or a function, such as { "task.make": "create" }.');
    }
    if (namespace !== undefined && !(typeof namespace === "string" && namespacePattern.test(namespace))) {
      throw new TypeError(
        '"namespace" must have 1 to 64 characters and no dots, control characters or lone surrogates.',
      );
    }
    this.#options = options;
    this.#hooks = hooks;
    this.#selects = createSelector(options, { names: true });
    this.#access = accessControl === undefined ? undefined : toAccessControl(accessControl);
    this.#traits = source.traits ?? {};
    // The operation that an option is for may be missing because its peer is not there yet.
    this.#reportsUnused = hooks.sharesOptions !== true && this.#traits.mayHave === undefined;
    if (!this.#reportsUnused) return;
    for (const option of ["include", "exclude"] as const) {
      const patterns = options[option] ?? [];
      this.#unused.push(
        ...patterns.map((pattern) => ({ option, pattern, matches: createMatcher(option, [pattern], true) })),
      );
    }
  }

  /**
   * Renames an operation and applies the access rule. Returns `undefined` for one that `include`, `exclude` or a hook filters out.
   * Throws a `CallError` when the access rules cannot be combined.
   */
  adapt(sourceId: string, definition: IOperationDefinition): IOperationDefinition | undefined {
    const { namespace, name } = this.#rename(sourceId, definition);
    const operation = { id: formatOperationId(namespace, name), spec: definition };
    if (this.#unused.length > 0) this.#unused = this.#unused.filter(({ matches }) => !matches(operation));
    if (!this.#selects(operation)) return undefined;
    // Every combination of old and new namespace and name, so that a rule for one of them matches.
    const namespaces = [definition.namespace, namespace];
    const ids = namespaces.flatMap((one) => [`${one}.${definition.name}`, `${one}.${name}`]);
    const scopes = this.#hooks.restrict === undefined ? [] : this.#hooks.restrict(definition, ids);
    if (scopes === undefined) return undefined;
    const changes: Partial<IOperationDefinition> = {};
    if (namespace !== definition.namespace) changes.namespace = namespace;
    if (name !== definition.name) changes.name = name;
    if (this.#traits.definesRoutes !== true) dropRoute(definition, changes);
    const access = this.#toRule(definition.accessControl);
    if (scopes.length > 0) changes.accessControl = addRule(access, { requiredScopes: [...scopes] });
    else if (access !== definition.accessControl) changes.accessControl = access;
    return Object.keys(changes).length === 0 ? definition : copyWith(definition, changes);
  }

  /** Reports patterns and names that have no effect on the operations of a source, which has been loaded. */
  reportUnused(sourceIds: Iterable<string>, report: ReportBuilder): void {
    const unused = this.#unused;
    this.#unused = [];
    const known = new Set(sourceIds);
    const [example] = known;
    if (!this.#reportsUnused || example === undefined) return;
    for (const { option, pattern } of unused) {
      report.warn(option, `No operation of the source matches ${quote(pattern)}. ${patternHint}`);
    }
    const { rename } = this.#options;
    for (const id of typeof rename === "object" ? Object.keys(rename) : []) {
      if (known.has(id)) continue;
      const hint = `Write the id in the source, such as ${quote(nearest(id, known) ?? example)}.`;
      report.warn("rename", `The source has no operation ${quote(id)}. ${hint}`);
    }
  }

  #rename(sourceId: string, definition: IOperationDefinition): { namespace: string; name: string } {
    const { rename, namespace = definition.namespace } = this.#options;
    const name = (typeof rename === "function" ? rename(sourceId) : getOwn(rename, sourceId)) ?? definition.name;
    if (typeof name === "string") return { namespace, name };
    const message = `"rename" must set a string for ${quote(sourceId)}, not ${describeValue(name)}.`;
    throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
  }

  #toRule(own: AccessControl): AccessControl {
    if (this.#access === undefined) return own;
    return this.#traits.replacesAccess === true ? this.#access : addRule(own, this.#access);
  }
}

/** Removes the HTTP route of an operation from outside. A lazy `_meta` is code of the source and never contains one. */
function dropRoute(definition: IOperationDefinition, changes: Partial<IOperationDefinition>): void {
  const meta: unknown = Object.getOwnPropertyDescriptor(definition, "_meta")?.value;
  if (!isObject(meta) || !Object.hasOwn(meta, "serve")) return;
  const { serve: _, ...rest } = meta;
  changes._meta = rest;
}

/** Fields of a rule that are combined as a group. */
const ruleParts = [["requiredScopesAny"], ["resourceType", "resourceAction", "resourceId"], ["customAuth"]] as const;

/** Returns the rule that requires both rules. Throws a `CallError` if one rule cannot express that. */
function addRule(own: AccessControl, added: AccessControl): AccessControl {
  const requiredScopes = [...new Set([...own.requiredScopes, ...added.requiredScopes])];
  const combined: AccessControl = { ...own, ...added, requiredScopes };
  for (const keys of ruleParts) {
    const [ours, theirs] = [own, added].map((rule) => JSON.stringify(keys.map((key) => rule[key])));
    if (ours === theirs || [own, added].some((rule) => keys.every((key) => rule[key] === undefined))) continue;
    const message = `Its access rule cannot be combined with "accessControl" of follow(): both have ${quote(keys[0])}.`;
    throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
  }
  return combined;
}

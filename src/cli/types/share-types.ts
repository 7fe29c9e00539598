import { toIdentifier, uniqueName } from "./names.ts";
import { type Definition, forEachPart, mapParts, type TypeNode } from "./type-node.ts";

/** A type of an operation. */
export interface GivenType {
  /** The name of its place, for parts that become definitions. */
  name: string;
  type: TypeNode;
  /** Whether it stays in its place, even if it occurs more than once. Its parts may become definitions. */
  isInline: boolean;
}

/** Types that have their common parts in definitions. */
export interface SharedTypes {
  /** The given types, in the same order. */
  types: TypeNode[];
  /** Every definition that they use, sorted by name. The names are unique identifiers. */
  definitions: Definition[];
}

/** Minimum length of the key of a type that becomes a definition when it occurs twice. Shorter ones are repeated. */
const minSharedLength = 160;

/**
 * Finds equal parts of many types: definitions of the same name and structure, which every document repeats, become one.
 * Large structures that occur more than once become definitions too.
 */
export function shareTypes(given: readonly GivenType[]): SharedTypes {
  const canonical = mergeDefinitions(given.map(({ type }) => type));
  return new Sharing(canonical).share(given);
}

/** Returns the definition that represents each definition: the first one of those with the same name and structure. */
function mergeDefinitions(types: readonly TypeNode[]): Map<Definition, Definition> {
  const definitions = new Set<Definition>();
  const collect = (type: TypeNode): void => {
    if (type.kind === "reference" && !definitions.has(type.to)) {
      definitions.add(type.to);
      collect(type.to.type);
    }
    forEachPart(type, collect);
  };
  for (const type of types) collect(type);

  // Two definitions are equal if their own structures are, and if all that they refer to is equal. Definitions can be
  // recursive, so they start in classes of equal structure, which are split until the referred classes are equal too.
  const classes = new Map<Definition, number>();
  const targets = new Map<Definition, Definition[]>();
  const structures = new Map<string, number>();
  for (const definition of definitions) {
    const own: Definition[] = [];
    const structure = JSON.stringify([definition.name, definition.docs, definition.type], (_key, value: unknown) => {
      if (!isReference(value)) return value;
      own.push(value.to);
      return "reference";
    });
    targets.set(definition, own);
    classes.set(definition, classOf(structures, structure));
  }
  for (let count = structures.size, before = 0; count !== before; ) {
    before = count;
    const finer = new Map<string, number>();
    const next = [...definitions].map((definition): [Definition, number] => {
      const referred = targets.get(definition)!.map((target) => classes.get(target));
      return [definition, classOf(finer, [classes.get(definition), ...referred].join())];
    });
    for (const [definition, number] of next) classes.set(definition, number);
    count = finer.size;
  }
  const representatives = new Map<number, Definition>();
  return new Map(
    [...definitions].map((definition) => {
      const number = classes.get(definition)!;
      if (!representatives.has(number)) representatives.set(number, definition);
      return [definition, representatives.get(number)!];
    }),
  );
}

function isReference(value: unknown): value is TypeNode & { kind: "reference" } {
  return typeof value === "object" && value !== null && (value as TypeNode).kind === "reference" && "to" in value;
}

function classOf(classes: Map<string, number>, key: string): number {
  let number = classes.get(key);
  if (number === undefined) {
    number = classes.size;
    classes.set(key, number);
  }
  return number;
}

class Sharing {
  readonly #canonical: ReadonlyMap<Definition, Definition>;
  readonly #numbers = new Map<Definition, number>();
  readonly #keys = new Map<TypeNode, string>();
  /** How often a structure occurs, with the first name of its places. A part of a repeated structure counts once. */
  readonly #occurrences = new Map<string, { count: number; name: string }>();
  /** The definition of each structure that became one. */
  readonly #structures = new Map<string, Definition>();
  /** The printed definition of each representative. */
  readonly #printed = new Map<Definition, Definition>();
  readonly #names = new Set<string>();

  constructor(canonical: ReadonlyMap<Definition, Definition>) {
    this.#canonical = canonical;
  }

  share(given: readonly GivenType[]): SharedTypes {
    const representatives = [...new Set(this.#canonical.values())];
    for (const definition of representatives) this.#numbers.set(definition, this.#numbers.size);
    for (const definition of representatives) forEachPart(definition.type, this.#counter(definition.name));
    for (const { name, type, isInline } of given) {
      if (isInline) forEachPart(type, this.#counter(name));
      else this.#counter(name)(type);
    }
    // Names of documents come first, so that they do not change when a structure becomes a definition.
    for (const definition of representatives) {
      const name = uniqueName(toIdentifier(definition.name), this.#names);
      this.#printed.set(definition, { ...definition, name });
    }
    const types = given.map(({ type, isInline }) => (isInline ? this.#rewriteParts(type) : this.#rewrite(type)));
    for (const [definition, printed] of this.#printed) printed.type = this.#rewriteParts(definition.type);
    const definitions = [...this.#printed.values(), ...this.#structures.values()];
    return { types, definitions: definitions.sort((a, b) => (a.name < b.name ? -1 : 1)) };
  }

  /** Returns a string that is equal for equal types. */
  #key(type: TypeNode): string {
    let key = this.#keys.get(type);
    if (key === undefined) {
      key = this.#createKey(type);
      this.#keys.set(type, key);
    }
    return key;
  }

  #createKey(type: TypeNode): string {
    switch (type.kind) {
      case "reference":
        return `#${this.#numbers.get(this.#canonical.get(type.to)!)}`;
      case "object": {
        const properties = type.properties.map(({ name, isOptional, docs, type: part }) => {
          return `${JSON.stringify([name, isOptional, docs])}:${this.#key(part)}`;
        });
        const rest = type.rest && this.#key(type.rest);
        return `{${properties.join()}|${rest}|${type.isClosed}|${JSON.stringify(type.constraints)}}`;
      }
      case "array": {
        const { items, required, rest, constraints } = type;
        return `[${items.map((item) => this.#key(item)).join()}|${required}|${rest && this.#key(rest)}|${JSON.stringify(constraints)}]`;
      }
      case "union":
      case "intersection":
        return `${type.kind}(${type.parts.map((part) => this.#key(part)).join()})`;
      default:
        return JSON.stringify(type);
    }
  }

  #counter(place: string): (type: TypeNode, property?: string) => void {
    return (type, property = place) => {
      if (isSharable(type)) {
        const key = this.#key(type);
        const known = this.#occurrences.get(key);
        this.#occurrences.set(key, { count: (known?.count ?? 0) + 1, name: known?.name ?? property });
        if (known !== undefined && key.length >= minSharedLength) return;
      }
      forEachPart(type, this.#counter(property));
    };
  }

  #rewrite(type: TypeNode): TypeNode {
    if (type.kind === "reference") return { kind: "reference", to: this.#printed.get(this.#canonical.get(type.to)!)! };
    const key = isSharable(type) ? this.#key(type) : "";
    const occurrence = this.#occurrences.get(key);
    if (occurrence === undefined || occurrence.count < 2 || key.length < minSharedLength)
      return this.#rewriteParts(type);
    let definition = this.#structures.get(key);
    if (definition === undefined) {
      definition = { name: uniqueName(toIdentifier(occurrence.name), this.#names), type };
      this.#structures.set(key, definition);
      definition.type = this.#rewriteParts(type);
    }
    return { kind: "reference", to: definition };
  }

  #rewriteParts(type: TypeNode): TypeNode {
    return type.kind === "reference" ? this.#rewrite(type) : mapParts(type, (part) => this.#rewrite(part));
  }
}

/** Returns whether a type may become a definition of its own. */
function isSharable(type: TypeNode): boolean {
  return type.kind === "object" || type.kind === "union" || type.kind === "intersection";
}

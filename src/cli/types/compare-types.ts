import { extendPointer } from "../../internal/json-pointer.ts";
import { Printer } from "./print-types.ts";
import {
  type ArrayNode,
  type Constraints,
  intersectionOf,
  isPrimitive,
  type ObjectNode,
  type Property,
  type TypeNode,
  unknownType,
} from "./type-node.ts";

/** A difference between two types. */
export interface TypeChange {
  /** `narrowed`: some old values are no longer allowed. `widened`: some new values were not allowed. */
  effect: "narrowed" | "widened" | "breaking" | "harmless";
  /** JSON pointer to the part that changed; `*` stands for any element or property. */
  path: string;
  /** What changed, as the end of a sentence. */
  text: string;
}

const lowerBounds = new Set(["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties"]);
const upperBounds = new Set(["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties"]);

/** Finds the differences between two types. A difference that is reached by several paths is reported once. */
export class Comparison {
  readonly #report: (change: TypeChange) => void;
  readonly #printer = new Printer("");
  /** Pairs that were compared, because types may be recursive. */
  readonly #seen = new Map<TypeNode, Set<TypeNode>>();

  constructor(report: (change: TypeChange) => void) {
    this.#report = report;
  }

  /** Compares an old and a new type. */
  compare(before: TypeNode, after: TypeNode, path: string): void {
    const [old, now] = [resolve(before), resolve(after)];
    const seen = this.#seen.get(old) ?? new Set();
    if (old === now || seen.has(now)) return;
    this.#seen.set(old, seen.add(now));
    if (!this.#compareKind(old, now, path)) this.#compareMembers(membersOf(old), membersOf(now), path);
  }

  /** Compares two types of the same kind. Returns `false` for others. */
  #compareKind(old: TypeNode, now: TypeNode, path: string): boolean {
    if (old.kind === "object" && now.kind === "object") this.#compareObjects(old, now, path);
    else if (old.kind === "array" && now.kind === "array") this.#compareArrays(old, now, path);
    else if (old.kind === "primitive" && now.kind === "primitive" && old.name === now.name) {
      this.#compareConstraints(old.constraints, now.constraints, path);
    } else return false;
    return true;
  }

  #compareObjects(old: ObjectNode, now: ObjectNode, path: string): void {
    const olds = new Map(old.properties.map((property) => [property.name, property]));
    const nows = new Map(now.properties.map((property) => [property.name, property]));
    for (const [name, before] of olds) {
      const after = nows.get(name);
      const at = extendPointer(path, name);
      if (after === undefined) this.#report({ effect: "breaking", path: at, text: "was removed" });
      else this.#compareProperties(before, after, at);
    }
    for (const [name, { isOptional }] of nows) {
      if (olds.has(name)) continue;
      const text = isOptional ? "is new" : "is new and required";
      this.#report({ effect: isOptional ? "harmless" : "narrowed", path: extendPointer(path, name), text });
    }
    if (old.isClosed !== now.isClosed) {
      const effect = now.isClosed ? "narrowed" : "harmless";
      this.#report({ effect, path, text: `${now.isClosed ? "no longer" : "now"} allows other properties` });
    }
    const [oldRest, nowRest] = [restOf(old), restOf(now)];
    if (oldRest !== undefined && nowRest !== undefined) this.compare(oldRest, nowRest, extendPointer(path, "*"));
    this.#compareConstraints(old.constraints, now.constraints, path);
  }

  #compareProperties(before: Property, after: Property, path: string): void {
    if (before.isOptional && !after.isOptional) this.#report({ effect: "narrowed", path, text: "is now required" });
    if (!before.isOptional && after.isOptional) this.#report({ effect: "widened", path, text: "is now optional" });
    this.compare(before.type, after.type, path);
  }

  #compareArrays(old: ArrayNode, now: ArrayNode, path: string): void {
    if (old.items.length !== now.items.length) {
      const text = `changed from ${this.#print(old)} to ${this.#print(now)}`;
      return this.#report({ effect: "breaking", path, text });
    }
    for (const [index, item] of old.items.entries()) this.compare(item, now.items[index]!, extendPointer(path, index));
    if (old.rest !== undefined && now.rest !== undefined) this.compare(old.rest, now.rest, extendPointer(path, "*"));
    else if (old.rest !== undefined) this.#report({ effect: "narrowed", path, text: "no longer allows more elements" });
    else if (now.rest !== undefined) this.#report({ effect: "widened", path, text: "now allows more elements" });
    this.#compareConstraints(old.constraints, now.constraints, path);
  }

  #compareConstraints(old: Constraints = {}, now: Constraints = {}, path: string): void {
    for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const [before, after] = [old[name], now[name]];
      if (JSON.stringify(before) === JSON.stringify(after)) continue;
      const text =
        after === undefined
          ? `no longer has ${name} ${JSON.stringify(before)}`
          : `has ${name} ${JSON.stringify(after)}${before === undefined ? "" : ` instead of ${JSON.stringify(before)}`}`;
      this.#report({ effect: effectOf(name, before, after), path, text });
    }
  }

  /** Compares the members of two unions. */
  #compareMembers(olds: readonly TypeNode[], nows: readonly TypeNode[], path: string): void {
    const removed = olds.filter((old) => !nows.some((now) => isEqual(old, now)));
    const added = nows.filter((now) => !olds.some((old) => isEqual(old, now)));
    for (const old of [...removed]) {
      // A member that changed is compared with the new one, if both are the only ones of their kind.
      const isSimilar = (type: TypeNode) => kindOf(type) === kindOf(old);
      const similar = added.filter(isSimilar);
      if (old.kind === "literal" || similar.length !== 1 || removed.filter(isSimilar).length !== 1) continue;
      if (!this.#compareKind(old, similar[0]!, path)) continue;
      removed.splice(removed.indexOf(old), 1);
      added.splice(added.indexOf(similar[0]!), 1);
    }
    const lost = removed.filter((old) => !nows.some((now) => includes(now, old)));
    const gained = added.filter((now) => !olds.some((old) => includes(old, now)));
    if (lost.length > 0) this.#report({ effect: "narrowed", path, text: `no longer allows ${this.#list(lost)}` });
    if (gained.length > 0) this.#report({ effect: "widened", path, text: `now allows ${this.#list(gained)}` });
  }

  #list(types: readonly TypeNode[]): string {
    return types.map((type) => this.#print(type)).join(" or ");
  }

  /** Prints a type in one line. */
  #print(type: TypeNode): string {
    return isPrimitive(type, "unknown") ? "any value" : this.#printer.print(type, "").replaceAll(/\s+/g, " ").trim();
  }
}

/** Returns the type of properties that are not listed; `undefined` if they are refused. */
function restOf({ rest, isClosed }: ObjectNode): TypeNode | undefined {
  return rest ?? (isClosed ? undefined : unknownType);
}

function effectOf(name: string, before: unknown, after: unknown): TypeChange["effect"] {
  if (after === undefined) return "widened";
  if (before === undefined) return "narrowed";
  const grew = Number(after) > Number(before);
  if (lowerBounds.has(name)) return grew ? "narrowed" : "widened";
  if (upperBounds.has(name)) return grew ? "widened" : "narrowed";
  return "breaking";
}

/** Returns the type that a reference refers to. An intersection of objects becomes one object. */
function resolve(type: TypeNode): TypeNode {
  if (type.kind === "reference") return resolve(type.to.type);
  if (type.kind !== "intersection") return type;
  const known = merged.get(type);
  if (known !== undefined) return known;
  const parts = type.parts.map(resolve);
  const result = parts.every((part) => part.kind === "object") ? mergeObjects(parts) : type;
  merged.set(type, result);
  return result;
}

/** Merged intersections, so that each is the same object whenever it is compared. */
const merged = new WeakMap<TypeNode, TypeNode>();

function mergeObjects(parts: readonly ObjectNode[]): ObjectNode {
  const properties = new Map<string, Property>();
  for (const property of parts.flatMap((part) => part.properties)) {
    const known = properties.get(property.name);
    const type = known === undefined ? property.type : intersectionOf([known.type, property.type]);
    const isOptional = property.isOptional && known?.isOptional !== false;
    properties.set(property.name, { ...property, type, isOptional });
  }
  return {
    kind: "object",
    properties: [...properties.values()],
    rest: parts.find(({ rest }) => rest !== undefined)?.rest,
    isClosed: parts.some(({ isClosed }) => isClosed),
    constraints: Object.assign({}, ...parts.map(({ constraints }) => constraints)),
  };
}

function membersOf(type: TypeNode): TypeNode[] {
  const resolved = resolve(type);
  return resolved.kind === "union" ? resolved.parts.flatMap(membersOf) : [resolved];
}

function kindOf(type: TypeNode): string {
  return type.kind === "primitive" ? type.name : type.kind;
}

/** Returns whether two members of unions are equal. Each comparison stops at the first difference. */
function isEqual(left: TypeNode, right: TypeNode): boolean {
  if (kindOf(left) !== kindOf(right)) return false;
  if (left.kind === "literal") return JSON.stringify(left) === JSON.stringify(right);
  const results = comparisons.get(left) ?? new WeakMap<TypeNode, boolean>();
  comparisons.set(left, results);
  const known = results.get(right);
  if (known !== undefined) return known;
  results.set(right, true); // Recursive types are equal unless another part differs.
  let isSame = true;
  if (left.kind === "intersection" && right.kind === "intersection") {
    isSame =
      left.parts.length === right.parts.length &&
      left.parts.every((part, index) => isSame && areEqual(part, right.parts[index]!));
  } else {
    new Comparison(() => {
      isSame = false;
    }).compare(left, right, "");
  }
  results.set(right, isSame);
  return isSame;
}

function areEqual(left: TypeNode, right: TypeNode): boolean {
  const [lefts, rights] = [membersOf(left), membersOf(right)];
  return lefts.length === rights.length && lefts.every((each) => rights.some((other) => isEqual(each, other)));
}

const comparisons = new WeakMap<TypeNode, WeakMap<TypeNode, boolean>>();

/** Returns whether one member of a union has all values of another. */
function includes(wide: TypeNode, narrow: TypeNode): boolean {
  if (isPrimitive(wide, "unknown")) return true;
  if (wide.kind !== "primitive" || narrow.kind !== "literal") return false;
  return narrow.value === null ? wide.name === "null" : wide.name === typeof narrow.value;
}

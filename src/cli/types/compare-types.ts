import { canonicalJSON } from "../../internal/canonical-json.ts";
import { extendPointer } from "../../internal/json-pointer.ts";
import { getOwn, setOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { hasType } from "../input-schema.ts";
import { printType } from "./print-types.ts";
import { combine, constraintsOf, Definition, isNever, isUnknown, type TypeSchema } from "./read-schema.ts";

/** A difference between two versions of a type. */
export interface TypeChange {
  /** Whether some values of the old type may no longer be allowed. */
  isNarrowed: boolean;
  /** Whether some values of the new type may not have been allowed. */
  isWidened: boolean;
  /** JSON pointer to the part that changed; `*` stands for any element or property. */
  path: string;
  /** What changed, as the end of a sentence. */
  text: string;
}

/** A member of a union: parts that all hold. Without a part, every value is allowed. */
type Member = readonly TypeSchema[];

const unknown: TypeSchema = {};

/**
 * Finds the differences between two versions of a type. If none narrows it, every value of the old type with listed
 * properties only has the new type. If none widens it, every value of the new type has the old one. A difference that is reached by several paths is reported once.
 */
export class Comparison {
  readonly #report: (change: TypeChange) => void;
  /** Pairs that were compared, because types may be recursive. */
  readonly #seen = new Set<string>();

  constructor(report: (change: TypeChange) => void) {
    this.#report = report;
  }

  /**
   * Compares an old and a new type.
   * @param listed - names of the properties that the old type lists. Callers pass no others.
   */
  compare(before: TypeSchema, after: TypeSchema, path: string, listed: readonly string[] = namesOf(before)): void {
    const [olds, nows] = [membersOf(before), membersOf(after)];
    const pair = JSON.stringify([olds, nows]);
    if (this.#seen.has(pair)) return;
    this.#seen.add(pair);
    const { pairs, removed, added } = pairUp(olds, nows, kindOfMember);
    for (const [old, now] of pairs) this.#compareMembers(old, now, path, listed);
    const lost = removed.filter((old) => !nows.some((now) => includes(now, old)));
    const gained = added.filter((now) => !olds.some((old) => includes(old, now)));
    if (lost.length > 0) this.#add(true, false, path, `no longer allows ${printMembers(lost)}`);
    if (gained.length > 0) this.#add(false, true, path, `now allows ${printMembers(gained)}`);
  }

  #add(isNarrowed: boolean, isWidened: boolean, path: string, text: string): void {
    this.#report({ isNarrowed, isWidened, path, text });
  }

  #compareMembers(olds: Member, nows: Member, path: string, listed: readonly string[]): void {
    const { pairs, removed, added } = pairUp(olds, nows, kindOf);
    for (const [old, now] of pairs) this.#compareParts(old, now, path, listed);
    for (const part of removed) this.#add(false, true, path, describeOther(part));
    for (const part of added) this.#add(true, false, path, describeOther(part));
  }

  /** Compares two parts of the same kind. */
  #compareParts(old: TypeSchema, now: TypeSchema, path: string, listed: readonly string[]): void {
    if (kindOf(old) === "union") return this.compare(old, now, path, listed);
    if (isOther(old)) {
      if (printClosure(old) !== printClosure(now)) this.#add(true, true, path, describeOther(now));
      return;
    }
    const isInteger = now.type === "integer";
    if (old.type !== now.type) {
      this.#add(isInteger, !isInteger, path, isInteger ? "must now be an integer" : "may now be a fraction");
    }
    for (const keyword of constraintsOf.get(now.type) ?? []) {
      const [before, after] = [old[keyword], now[keyword]];
      const [isNarrowed, isWidened] = [!implies(keyword, before, after), !implies(keyword, after, before)];
      if (isNarrowed || isWidened) this.#add(isNarrowed, isWidened, path, describeConstraint(keyword, before, after));
    }
    if (now.type === "object") this.#compareObjects(old, now, path, listed);
    if (now.type === "array") this.#compareArrays(old, now, path);
  }

  #compareObjects(old: TypeSchema, now: TypeSchema, path: string, listed: readonly string[]): void {
    for (const name of new Set([old, now].flatMap(({ properties = {} }) => Object.keys(properties)))) {
      const at = extendPointer(path, name);
      const [before, after] = [old, now].map(({ properties }) => getOwn(properties, name) as TypeSchema | undefined);
      const [wasRequired, isRequired] = [old, now].map(({ required = [] }) => required.includes(name));
      if (after === undefined) this.#add(true, true, at, "was removed");
      else if (before === undefined) this.#compareNew(old, after, isRequired!, at, listed.includes(name));
      else {
        if (isRequired && !wasRequired) this.#add(true, false, at, "is now required");
        if (!isRequired && wasRequired) this.#add(false, true, at, "is now optional");
        this.compare(before, after, at);
      }
    }
    const [patterns, newPatterns] = [old, now].map(({ patternProperties }) => printClosure({ patternProperties }));
    if (patterns !== newPatterns) this.#add(true, true, path, 'changed in "patternProperties"');
    this.#compareRest(old.additionalProperties, now.additionalProperties, path, "other properties");
  }

  /** Compares a property that is new with those that the old type did not list. */
  #compareNew(old: TypeSchema, after: TypeSchema, isRequired: boolean, path: string, isListed: boolean): void {
    const { additionalProperties: rest = unknown, patternProperties } = old;
    const wasClosed = isNever(rest);
    const mayDiffer = patternProperties !== undefined;
    this.#add(isRequired || mayDiffer, wasClosed || mayDiffer, path, isRequired ? "is new and required" : "is new");
    const wasAllowed = isListed || old.additionalProperties !== undefined;
    if (wasAllowed && !wasClosed && !(isRequired && isUnknown(rest))) this.compare(rest, after, path);
  }

  #compareArrays(old: TypeSchema, now: TypeSchema, path: string): void {
    const [items, newItems] = [old, now].map(({ prefixItems = [] }) => prefixItems);
    for (let index = 0; index < Math.max(items!.length, newItems!.length); index++) {
      const [before, after] = [items![index] ?? old.items, newItems![index] ?? now.items];
      this.compare(before ?? unknown, after ?? unknown, extendPointer(path, index));
    }
    this.#compareRest(old.items, now.items, path, "more elements");
  }

  /** Compares the types of properties or elements that are not listed. */
  #compareRest(old: TypeSchema = unknown, now: TypeSchema = unknown, path: string, name: string): void {
    if (isNever(old) === isNever(now)) this.compare(old, now, extendPointer(path, "*"));
    else this.#add(isNever(now), isNever(old), path, `${isNever(now) ? "no longer" : "now"} allows ${name}`);
  }
}

/** Prints the members of a union in one line. */
function printMembers(members: readonly Member[]): string {
  const types = members.map((parts) => printType(combine("allOf", parts)).replaceAll(/\s+/g, " ").trim());
  return [...new Set(types)].map((type) => (type === "unknown" ? "any value" : type)).join(" or ");
}

/** Finds what corresponds to each other: first what is equal, and then what is of the same kind, in the same order. */
function pairUp<T>(olds: readonly T[], nows: readonly T[], kindOfEach: (value: T) => string | undefined) {
  const pairs: Array<[T, T]> = [];
  let [removed, added] = [[...olds], [...nows]];
  for (const keyOf of [(value: T) => JSON.stringify(value), kindOfEach]) {
    removed = removed.filter((old) => {
      const key = keyOf(old);
      const index = key === undefined ? -1 : added.findIndex((now) => keyOf(now) === key);
      for (const now of index < 0 ? [] : added.splice(index, 1)) pairs.push([old, now]);
      return index < 0;
    });
  }
  return { pairs, removed, added };
}

/** Returns the members of a type that is a union. References are resolved, and the objects of an intersection merged. */
function membersOf(schema: TypeSchema): Member[] {
  const { $ref, enum: values, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) return membersOf($ref.schema);
  if (values !== undefined) return values.map((value) => [{ enum: [value] }]);
  if (anyOf !== undefined) return anyOf.flatMap(membersOf);
  if (oneOf !== undefined) {
    const members = oneOf.map(membersOf);
    const isExclusive = members.every((each, index) => {
      const others = members.slice(0, index).flat();
      return each.every((parts) =>
        others.every((other) => parts.some((part) => other.some((otherPart) => areDisjoint(part, otherPart)))),
      );
    });
    // Otherwise a member may refuse a value because another one accepts it too.
    return members.flat().map((parts) => (isExclusive ? parts : [...parts, schema]));
  }
  if (allOf === undefined) return isUnknown(schema) ? [[]] : [[schema]];
  const parts = allOf.flatMap((part) => {
    const members = membersOf(part);
    return members.length === 1 ? members[0]! : [part];
  });
  return [mergeObjects(parts)];
}

/** Replaces the objects of an intersection by one, whose properties have the types of all. */
function mergeObjects(parts: Member): Member {
  const unmergeable = ["patternProperties", "minProperties", "maxProperties"];
  const objects = parts.filter((part) => part.type === "object" && !unmergeable.some((keyword) => keyword in part));
  if (objects.length < 2) return parts;
  const properties: Record<string, TypeSchema> = {};
  for (const name of objects.flatMap(namesOf)) {
    const types = objects.map((object) => propertyOf(object, name));
    setOwn(properties, name, combine("allOf", types));
  }
  const others = objects.map(({ additionalProperties }) => additionalProperties ?? unknown);
  const rest = combine("allOf", others);
  const isImplicit = isUnknown(rest) && objects.some((object) => object.additionalProperties === undefined);
  const required = [...new Set(objects.flatMap((object) => object.required ?? []))];
  const merged = { type: "object", properties, required, ...(!isImplicit && { additionalProperties: rest }) };
  return [merged, ...parts.filter((part) => !objects.includes(part))];
}

/** Returns the names of the properties that a type lists. */
function namesOf({ $ref, anyOf = [], oneOf = [], allOf = [], properties = {} }: TypeSchema): string[] {
  if ($ref !== undefined) return namesOf($ref.schema);
  return [...Object.keys(properties), ...[...anyOf, ...oneOf, ...allOf].flatMap(namesOf)];
}

/** Returns whether no value has both types, as far as types, constants and closed objects show. */
function areDisjoint(one: TypeSchema, other: TypeSchema): boolean {
  if (isNever(one) || isNever(other)) return true;
  if (one.enum !== undefined && other.enum !== undefined) {
    const values = new Set(one.enum.map(canonicalJSON));
    return !other.enum.some((value) => values.has(canonicalJSON(value)));
  }
  const [family, otherFamily] = [familyOf(one), familyOf(other)];
  if (family !== otherFamily) return family !== undefined && otherFamily !== undefined;
  const required = [...(one.required ?? []), ...(other.required ?? [])];
  return required.some((name) => areDisjoint(propertyOf(one, name), propertyOf(other, name)));
}

function propertyOf(
  { properties, additionalProperties = unknown, patternProperties }: TypeSchema,
  name: string,
): TypeSchema {
  const others = patternProperties === undefined ? additionalProperties : unknown;
  return (getOwn(properties, name) as TypeSchema | undefined) ?? others;
}

/** Returns the type of all values of a part; `undefined` if there are several, or if it is unknown. */
function familyOf({ type, enum: values = [] }: TypeSchema): string | undefined {
  const [value] = values;
  if (values.length === 1) return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return type === "integer" ? "number" : type;
}

/** Returns whether a part is only compared as a whole: assertions that TypeScript cannot express, and `oneOf`. */
function isOther({ $ref, enum: values, anyOf, allOf, type }: TypeSchema): boolean {
  return ($ref ?? values ?? anyOf ?? allOf ?? type) === undefined;
}

/** Returns the kind of a part. Parts of the same kind can be compared. */
function kindOf(part: TypeSchema): string | undefined {
  if (part.enum?.length === 1) return undefined;
  return isOther(part) ? Object.keys(part).join() : (familyOf(part) ?? "union");
}

function kindOfMember(parts: Member): string | undefined {
  const [part] = parts.filter((each) => !isOther(each));
  return part === undefined ? parts.map(kindOf).join() : kindOf(part);
}

/** Returns whether one member of a union has all values of another. */
function includes(wide: Member, narrow: Member): boolean {
  const [part, ...others] = wide;
  if (part === undefined) return true;
  const isUnlimited = others.length === 0 && Object.keys(part).length === 1 && part.type !== undefined;
  return isUnlimited && narrow.some(({ enum: values }) => values?.every((value) => hasType(value, part.type!)));
}

/** Returns whether a value that satisfies a constraint also satisfies another one of the same keyword. */
function implies(keyword: string, from: unknown, to: unknown): boolean {
  if (to === undefined || from === to) return true;
  if (typeof from !== "number" || typeof to !== "number") return false;
  if (keyword === "multipleOf") return from % to === 0;
  return /^min|Min/.test(keyword) ? from >= to : from <= to;
}

function describeConstraint(keyword: string, before: unknown, after: unknown): string {
  if (after === undefined) return `no longer has ${keyword} ${JSON.stringify(before)}`;
  return `has ${keyword} ${JSON.stringify(after)}${before === undefined ? "" : ` instead of ${JSON.stringify(before)}`}`;
}

function describeOther(part: TypeSchema): string {
  const keywords = Object.keys(part).map((keyword) => quote(keyword));
  return `changed in ${keywords.join(" and ")}`;
}

/** Prints a type with all definitions that it refers to. */
function printClosure(schema: TypeSchema): string {
  const definitions = new Set<Definition>();
  const print = (type: TypeSchema) =>
    JSON.stringify(type, function (this: Record<string, unknown>, key, value: unknown) {
      if (this[key] instanceof Definition) definitions.add(this[key]);
      return value;
    });
  const texts = [print(schema)];
  for (const definition of definitions) texts.push(definition.key, print(definition.schema));
  return texts.join("\n");
}

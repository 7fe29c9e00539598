import { canonicalJSON } from "../internal/canonical-json.ts";
import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import type { Property, Shape } from "../schema/model.ts";

/** A difference between two versions of a schema. */
export interface SchemaChange {
  /** Whether some values that were accepted may no longer be. */
  isNarrowed: boolean;
  /** Whether some values that are accepted may not have been. */
  isWidened: boolean;
  /** JSON pointer to the part that changed; `*` stands for any element or property. */
  path: string;
  /** What changed, as the end of a sentence. */
  text: string;
}

/** A member of a union: a value, or a shape of one type. */
interface Member {
  readonly shape: Shape;
  readonly value?: { readonly it: unknown };
  /** The schema as it is written, or the value. */
  readonly text: unknown;
}

/** Maximum number of members of a union, and of pairs of shapes, that are compared. */
const [maxMembers, maxPairs] = [10_000, 20_000];

/**
 * Finds the differences between two versions of a schema. If none narrows it, every value that the old one accepted with
 * listed properties only is still accepted. If none widens it, every value that is accepted was so before.
 */
export class Comparison {
  readonly #report: (change: SchemaChange) => void;
  /** Pairs that were compared, because schemas may be recursive. */
  readonly #seen = new Map<Shape, Set<Shape>>();
  #pairs = 0;

  constructor(report: (change: SchemaChange) => void) {
    this.#report = report;
  }

  /** Compares an old and a new version. A difference that is reached by several paths is reported once. */
  compare(before: Shape, after: Shape, path: string): void {
    const seen = this.#seen.get(before) ?? new Set();
    if (seen.has(after)) return;
    this.#seen.set(before, seen.add(after));
    if (++this.#pairs > maxPairs) return this.#add(true, true, path, "is too large to be compared");
    if ([before, after].some(isMixed)) {
      if (before.text !== after.text) this.#add(true, true, path, "changed");
      return;
    }
    const { pairs, removed, added } = pairUp(membersOf(before), membersOf(after));
    for (const [old, now] of pairs) if (old.value === undefined) this.#compareShapes(old.shape, now.shape, path);
    const lost = removed.filter((old) => !membersOf(after).some((now) => includes(now, old)));
    const gained = added.filter((now) => !membersOf(before).some((old) => includes(old, now)));
    if (lost.length > 0) this.#add(true, false, path, `no longer allows ${printMembers(lost)}`);
    if (gained.length > 0) this.#add(false, true, path, `now allows ${printMembers(gained)}`);
    // A member of `oneOf` may refuse a value because another one accepts it too.
    const isUncertain = [before, after].some(isAmbiguous) && before.text !== after.text;
    if (isUncertain) this.#add(true, true, path, 'changed in "oneOf"');
  }

  #add(isNarrowed: boolean, isWidened: boolean, path: string, text: string): void {
    this.#report({ isNarrowed, isWidened, path, text });
  }

  /** Compares two shapes of one type each. */
  #compareShapes(old: Shape, now: Shape, path: string): void {
    if (old.kind !== now.kind && [old.kind, now.kind].includes("integer")) {
      const isInteger = now.kind === "integer";
      this.#add(isInteger, !isInteger, path, isInteger ? "must now be an integer" : "may now be a fraction");
    }
    const [before, after] = [old.limits, now.limits];
    for (const keyword of Object.keys({ ...before, ...after })) {
      const [from, to] = [before[keyword], after[keyword]];
      const [isNarrowed, isWidened] = [!implies(keyword, from, to), !implies(keyword, to, from)];
      if (isNarrowed || isWidened) this.#add(isNarrowed, isWidened, path, describeLimit(keyword, from, to));
    }
    const changed = [...old.others, ...now.others].filter(
      (text) => !(old.others.includes(text) && now.others.includes(text)),
    );
    const keywords = new Set(changed.map((text) => quote((JSON.parse(text) as [[string]])[0][0])));
    if (keywords.size > 0) this.#add(true, true, path, `changed in ${[...keywords].join(" and ")}`);
    if (familyOf(now) === "object") this.#compareObjects(old, now, path);
    if (familyOf(now) === "array") this.#compareArrays(old, now, path);
  }

  #compareObjects(old: Shape, now: Shape, path: string): void {
    for (const name of new Set([...old.properties.keys(), ...now.properties.keys()])) {
      const at = extendPointer(path, name);
      const [before, after] = [old.properties.get(name), now.properties.get(name)];
      if (after === undefined) this.#add(true, true, at, "was removed");
      else if (before === undefined) this.#compareNew(old, after, at);
      else {
        if (after.isRequired && !before.isRequired) this.#add(true, false, at, "is now required");
        if (!after.isRequired && before.isRequired) this.#add(false, true, at, "is now optional");
        this.compare(before.shape, after.shape, at);
      }
    }
    this.#compareRest(old.rest, now.rest, path, "other properties");
  }

  /** Compares a property that is new with those that were not listed. */
  #compareNew(old: Shape, { shape, isRequired }: Property, path: string): void {
    const wasClosed = old.rest.isNever;
    this.#add(isRequired, wasClosed, path, isRequired ? "is new and required" : "is new");
    // Callers pass properties that are not listed where the schema describes them, or where it lists none.
    const wasAllowed = old.isOpen || !old.schemas.some(({ properties }) => properties !== undefined);
    if (wasAllowed && !wasClosed && !(isRequired && old.rest.kind === "unknown")) this.compare(old.rest, shape, path);
  }

  #compareArrays(old: Shape, now: Shape, path: string): void {
    const length = Math.max(old.prefix.length, now.prefix.length);
    for (let index = 0; index < length; index++) {
      this.compare(old.element(index), now.element(index), extendPointer(path, index));
    }
    this.#compareRest(old.items, now.items, path, "more elements");
  }

  /** Compares the properties or elements that are not listed. */
  #compareRest(old: Shape, now: Shape, path: string, name: string): void {
    if (old.isNever === now.isNever) this.compare(old, now, extendPointer(path, "*"));
    else this.#add(now.isNever, old.isNever, path, `${now.isNever ? "no longer" : "now"} allows ${name}`);
  }
}

/** Returns the members of a union, also those of unions in it. Each value of an enum is one. */
function membersOf(shape: Shape, text: unknown = shape.schemas): Member[] {
  if (shape.isNever) return [];
  if (shape.values !== undefined) return shape.values.map((it) => ({ shape, value: { it }, text: it }));
  if (shape.kind !== "union") return [{ shape, text }];
  return shape.alternatives.flatMap((each) => membersOf(each.shape, each.schema)).slice(0, maxMembers);
}

/** Returns whether a schema lists values and demands more of them, which is only compared as a whole. */
function isMixed({ values, schemas }: Shape): boolean {
  return values !== undefined && !schemas.every(isList);
}

function isList(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    return keyword === "anyOf" ? (value as unknown[]).every(isList) : ["const", "enum", "type"].includes(keyword);
  });
}

/** Finds what corresponds to each other: first what is equal, then what has the same tag, then what is of one type. */
function pairUp(olds: readonly Member[], nows: readonly Member[]) {
  const pairs: Array<[Member, Member]> = [];
  let [removed, added] = [[...olds], [...nows]];
  const kindOf = ({ shape, value }: Member) => (value === undefined ? familyOf(shape) : undefined);
  for (const keyOf of [({ text }: Member) => canonicalJSON(text), tagOf, kindOf]) {
    const byKey = new Map<string, Member[]>();
    for (const now of added) {
      const key = keyOf(now);
      if (key !== undefined) byKey.set(key, [...(byKey.get(key) ?? []), now]);
    }
    const left = new Set(added);
    removed = removed.filter((old) => {
      const now = byKey.get(keyOf(old) ?? "")?.shift();
      if (now !== undefined) pairs.push([old, now]);
      return now === undefined || !left.delete(now);
    });
    added = [...left];
  }
  return { pairs, removed, added };
}

/** Returns the constants that an object must have, by which programs tell the members of a union apart. */
function tagOf({ shape, value }: Member): string | undefined {
  if (value !== undefined || shape.kind !== "object") return undefined;
  const tags = [...shape.properties].filter(
    ([, property]) => property.isRequired && property.shape.values?.length === 1,
  );
  return tags.length === 0 ? undefined : canonicalJSON(tags.map(([name, property]) => [name, property.shape.values]));
}

function familyOf({ kind }: Shape): string {
  return { integer: "number", map: "object", tuple: "array" }[kind as string] ?? kind;
}

function kindOfValue(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** Returns whether one member of a union has all values of another. */
function includes({ shape, value }: Member, narrow: Member): boolean {
  if (value !== undefined || shape.others.length > 0 || Object.keys(shape.limits).length > 0) return false;
  return shape.kind === "unknown" || (narrow.value !== undefined && shape.admits(narrow.value.it));
}

/** Returns whether the members of `oneOf` may accept the same value, as far as types and tags show it. */
function isAmbiguous(shape: Shape): boolean {
  if (shape.kind !== "union" || !shape.schemas.some(({ oneOf }) => Array.isArray(oneOf))) return false;
  const members = membersOf(shape);
  const families = new Set(members.map((each) => (each.value ? kindOfValue(each.value.it) : familyOf(each.shape))));
  return shape.discriminator === undefined && (families.size < members.length || families.has("unknown"));
}

function printMembers(members: readonly Member[]): string {
  const texts = members.map(({ shape, value }) => {
    return value === undefined ? (shape.kind === "unknown" ? "any value" : familyOf(shape)) : JSON.stringify(value.it);
  });
  return [...new Set(texts)].join(" or ");
}

/** Returns whether a value that satisfies a limit also satisfies another one of the same keyword. */
function implies(keyword: string, from: unknown, to: unknown): boolean {
  if (to === undefined || from === to) return true;
  if (typeof from !== "number" || typeof to !== "number") return false;
  if (keyword === "multipleOf") return from % to === 0;
  return /^min|Min/.test(keyword) ? from >= to : from <= to;
}

function describeLimit(keyword: string, before: unknown, after: unknown): string {
  if (after === undefined) return `no longer has ${keyword} ${JSON.stringify(before)}`;
  return `has ${keyword} ${JSON.stringify(after)}${before === undefined ? "" : ` instead of ${JSON.stringify(before)}`}`;
}

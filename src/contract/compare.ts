import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { applicators, forEachSubschema, isSame, type SchemaObject } from "../schema/model.ts";

/** A version of a schema, and what its references name. */
export interface Version {
  readonly schema: unknown;
  readonly resolve: (reference: string) => unknown;
}

/** Receives a difference: a JSON pointer, in which `*` stands for any element or property, and the end of a sentence. */
type Report = (path: string, text: string, isBreaking: boolean) => void;

/**
 * Which differences are breaking: those after which callers may fail (`free`); in `oneOf` also those after which more values
 * are accepted, because two members may then accept the same value (`exclusive`); in `not` and the like all (`exact`).
 */
type Mode = "free" | "exclusive" | "exact";

/** What the old version says about one value. */
interface Value {
  readonly path: string;
  /** The schemas that apply to the value, which together list its properties. */
  readonly parts: readonly SchemaObject[];
}

/** A schema inside another one. */
interface Part {
  readonly schema: unknown;
  readonly keyword: string;
  readonly key: string | number | undefined;
}

/** The keywords whose schemas describe the same value as the schema around them. */
const inPlace = new Set("$ref allOf anyOf oneOf not if then else dependentSchemas".split(" "));
/** The keywords that accept more or fewer values if their schemas do. */
const monotone = new Set(
  "$ref allOf anyOf oneOf properties patternProperties additionalProperties items prefixItems".split(" "),
);
/** The keywords that describe the properties that a schema does not list. */
const restKeywords = ["patternProperties", "additionalProperties", "unevaluatedProperties"];
/** What `true` means. */
const anything: SchemaObject = {};
/** Maximum number of pairs that are compared, and of references to references. */
const [maxPairs, maxReferences] = [100_000, 100];

/**
 * Compares two versions of a schema by their structure. Harmless are new optional properties, properties that inputs no longer
 * require, and properties that outputs always have now. Every other difference is breaking. If none is, every input that the
 * old version accepted with listed properties only is still accepted.
 */
export function compareSchemas(before: Version, after: Version, isInput: boolean, report: Report): void {
  const numbers = new Map<unknown, number>();
  const seen = new Set<string>();

  /** @param olds - all old schemas for the value */
  function compareValues(from: unknown, to: unknown, path: string, mode: Mode, olds: readonly unknown[]): void {
    const [old, now] = [follow(from, before), follow(to, after)];
    const all = olds.map((each) => follow(each, before));
    if (seen.size > maxPairs) return report("", "is too large to be compared", true);
    if (!isFirst(mode, old, now, ...all)) return;
    const parts = new Set(all);
    for (const part of parts) {
      for (const { keyword, schema } of partsOf(part, before).values()) if (inPlace.has(keyword)) parts.add(schema);
    }
    compareParts(old, now, mode, { path, parts: [...parts].filter(isObject) });
  }

  function compareParts(from: unknown, to: unknown, mode: Mode, value: Value): void {
    const [old, now] = [follow(from, before), follow(to, after)];
    if (!isFirst(mode, value, old, now)) return;
    if (!isObject(old) || !isObject(now)) return isSame(old, now) ? undefined : report(value.path, "changed", true);
    const isChanged = (keyword: string) => !isSame(old[keyword], now[keyword]);
    const isHolder = (keyword: string) => applicators.has(keyword) || keyword === "$ref" || keyword === "required";
    const changed = Object.keys({ ...old, ...now }).filter((keyword) => !isHolder(keyword) && isChanged(keyword));
    const [olds, nows] = [partsOf(old, before), partsOf(now, after)];
    for (const [place, { keyword, key }] of [...olds, ...[...nows].filter(([name]) => !olds.has(name))]) {
      const [one, other] = [olds.get(place), nows.get(place)];
      const own = keyword === "oneOf" && mode === "free" ? "exclusive" : mode;
      const inner = monotone.has(keyword) ? own : "exact";
      if (one && other && inPlace.has(keyword)) compareParts(one.schema, other.schema, inner, value);
      else if (one && other) {
        const all = value.parts.flatMap((part) => partsOf(part, before).get(place)?.schema ?? []);
        const isNamed = keyword === "properties" || typeof key === "number";
        compareValues(one.schema, other.schema, extendPointer(value.path, isNamed ? key! : "*"), inner, all);
      } else if (keyword !== "properties") changed.push(keyword);
    }
    compareNames(old, now, mode, value);
    const keywords = [...new Set(changed)].map((keyword) => quote(keyword));
    if (keywords.length > 0) report(value.path, `changed in ${keywords.join(", ")}`, true);
  }

  /** Compares which properties two schemas list and require. */
  function compareNames(old: SchemaObject, now: SchemaObject, mode: Mode, { path, parts }: Value): void {
    const add = (name: string, text: string, isNarrowed: boolean, isWidened: boolean) => {
      const isHarmful = isInput ? isNarrowed || (isWidened && mode === "exclusive") : isWidened;
      report(extendPointer(path, name), text, isHarmful || mode === "exact");
    };
    const [was, is] = [namesIn([old]), namesIn([now])];
    const known = namesIn(parts);
    const rests = parts.flatMap((part) => restKeywords.flatMap((keyword) => part[keyword] ?? []));
    // Callers also pass properties that the schemas describe without listing them, and any where they list none.
    const isOpen = rests.some((rest) => rest !== false) || !parts.some(({ properties }) => isObject(properties));
    for (const name of new Set([...was.listed, ...is.listed, ...was.required, ...is.required])) {
      const isRequired = is.required.has(name);
      if (was.listed.has(name) && !is.listed.has(name)) add(name, "was removed", true, true);
      else if (!was.listed.has(name) && is.listed.has(name)) {
        const isNarrowed = isRequired || isOpen || known.listed.has(name) || known.required.has(name);
        const isWidened = rests.some((rest) => rest !== true);
        add(name, isRequired ? "is new and required" : "is new", isNarrowed, isWidened);
      } else if (isRequired !== was.required.has(name)) {
        add(name, isRequired ? "is now required" : "is now optional", isRequired, !isRequired);
      }
    }
  }

  /** Returns whether these objects are compared for the first time. Definitions may be recursive. */
  function isFirst(mode: Mode, ...objects: readonly unknown[]): boolean {
    const keys = objects.map((each) => numbers.get(each) ?? numbers.set(each, numbers.size + 1).size);
    const { size } = seen;
    return seen.add([mode, ...keys].join(" ")).size > size;
  }

  compareValues(before.schema, after.schema, "", "free", [before.schema]);
}

/** Returns the schemas in a schema by their places in it. */
function partsOf(schema: unknown, { resolve }: Version): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>();
  if (!isObject(schema)) return parts;
  const { $ref } = schema;
  if (typeof $ref === "string") parts.set("$ref", { schema: resolve($ref), keyword: "$ref", key: undefined });
  forEachSubschema(schema, (part, keyword, key) => {
    parts.set(extendPointer(keyword, key ?? ""), { schema: part, keyword, key });
  });
  return parts;
}

/** Returns the target of a schema that is only a reference. References may lead back to themselves. */
function follow(schema: unknown, { resolve }: Version): unknown {
  let target = schema;
  for (let count = 0; count < maxReferences && isObject(target); count++) {
    if (typeof target["$ref"] !== "string" || Object.keys(target).length > 1) return target;
    target = resolve(target["$ref"]);
  }
  return target === true ? anything : target;
}

/** Returns the names of the properties that schemas list, and that they require. */
function namesIn(schemas: readonly SchemaObject[]) {
  const listed = schemas.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : []));
  const required = schemas.flatMap(
    (schema) => (Array.isArray(schema["required"]) ? schema["required"] : []) as string[],
  );
  return { listed: new Set(listed), required: new Set(required) };
}

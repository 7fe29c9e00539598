import { getOwn, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { Located } from "./references.ts";
import type { Direction } from "./schema-copy.ts";
import { ownList, ownObject, ownString } from "./values.ts";

const nothing: ReadonlySet<string> = new Set();

/** Whether a property, or its reference, declares that it does not exist on this side of a call. */
export function isHidden(document: OpenAPIDocument, property: unknown, base: string, direction: Direction): boolean {
  const keyword = direction === "input" ? "readOnly" : "writeOnly";
  if (getOwn(property, keyword) === true) return true;
  if (typeof getOwn(property, "$ref") === "string")
    return getOwn(document.references.tryDeref({ value: property, pointer: "", base })?.value, keyword) === true;
  // OpenAPI 3.0 uses `allOf` with a single reference to put a description beside it.
  const branches = ownList(property, "allOf");
  return branches.length === 1 && isHidden(document, branches[0], base, direction);
}

/**
 * Returns the names of properties that are hidden in a schema or in any branch of its `allOf`. They cannot be required
 * either, even if another branch requires them.
 */
export function hiddenNames(
  document: OpenAPIDocument,
  schema: JSONObject,
  base: string,
  direction: Direction,
  inherited: ReadonlySet<string> = nothing,
): ReadonlySet<string> {
  const asksForNames = Object.hasOwn(schema, "required") || Object.hasOwn(schema, "allOf");
  if (!asksForNames) return inherited;
  const names = namesIn(document, schema, base, direction);
  if (inherited.size === 0) return names;
  return names.size === 0 ? inherited : new Set([...inherited, ...names]);
}

/**
 * Reads each schema once, even if many others extend it. It does not use recursion, because a chain of extensions may
 * be longer than the stack allows.
 */
function namesIn(document: OpenAPIDocument, schema: JSONObject, base: string, direction: Direction): Names {
  const known = document.hidden[direction];
  const pending = [{ value: schema as unknown, base, isOpen: false }];
  const open = new Set<unknown>();
  while (pending.length > 0) {
    const at = pending.at(-1)!;
    const branches = known.has(at.value) ? [] : branchesOf(document, at.value, at.base);
    if (at.isOpen || known.has(at.value)) {
      pending.pop();
      open.delete(at.value);
      if (!known.has(at.value))
        known.set(at.value, join(ownNames(document, at.value, at.base, direction), branches, known));
      continue;
    }
    at.isOpen = true;
    open.add(at.value);
    for (const branch of branches) if (!open.has(branch.value)) pending.push({ ...branch, isOpen: false });
  }
  return known.get(schema) ?? nothing;
}

type Names = ReadonlySet<string>;

/** Returns the schemas that a schema extends: its reference and the branches of its `allOf`. */
function branchesOf(document: OpenAPIDocument, schema: unknown, base: string): Array<{ value: unknown; base: string }> {
  const branches = ownList(schema, "allOf").map((value) => ({ value, base }));
  if (typeof getOwn(schema, "$ref") !== "string") return branches;
  const target = document.references.tryDeref({ value: schema, pointer: "", base });
  return target === undefined ? branches : [...branches, { value: target.value, base: target.base }];
}

function ownNames(document: OpenAPIDocument, schema: unknown, base: string, direction: Direction): Names {
  const properties = Object.entries(ownObject(schema, "properties") ?? {});
  const hidden = properties.filter(([, property]) => isHidden(document, property, base, direction));
  return hidden.length === 0 ? nothing : new Set(hidden.map(([name]) => name));
}

/**
 * Joins sets of names. If only one set has members, as in a long chain of extensions, it is shared instead of copied.
 */
function join(names: Names, branches: Array<{ value: unknown }>, known: ReadonlyMap<unknown, Names>): Names {
  const sets = [names, ...branches.map(({ value }) => known.get(value) ?? nothing)].filter(({ size }) => size > 0);
  return sets.length > 1 ? new Set(sets.flatMap((set) => [...set])) : (sets[0] ?? nothing);
}

/**
 * Returns the schemas that extend `base` with `allOf`, if `base` has its own `discriminator`. A value of the base type
 * may match any of them.
 */
export function subtypesOf(document: OpenAPIDocument, base: Located): Located[] {
  if (!isObject(getOwn(base.value, "discriminator")) && ownString(base.value, "discriminator") === undefined) return [];
  if (getOwn(base.value, "oneOf") !== undefined || getOwn(base.value, "anyOf") !== undefined) return [];
  document.subtypes ??= readSubtypes(document);
  return document.subtypes.get(base.value) ?? [];
}

/** Returns the schema components by the schemas that their `allOf` references, directly or indirectly. */
function readSubtypes(document: OpenAPIDocument): Map<unknown, Located[]> {
  const subtypes = new Map<unknown, Located[]>();
  for (const component of document.schemaComponents()) {
    const seen = new Set<unknown>([component.value]);
    const pending: Located[] = [component];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const branch of ownList(next.value, "allOf")) {
        const parent =
          typeof getOwn(branch, "$ref") === "string"
            ? document.references.tryDeref({ value: branch, pointer: "", base: next.base })
            : undefined;
        if (parent === undefined || seen.has(parent.value)) continue;
        seen.add(parent.value);
        pending.push(parent);
        const known = subtypes.get(parent.value);
        if (known === undefined) subtypes.set(parent.value, [component]);
        else known.push(component);
      }
    }
  }
  return subtypes;
}

/**
 * Applies a `discriminator` to `oneOf`. A branch that the mapping names is valid only with one of its
 * values; without a mapping the branches need not exclude each other, so `oneOf` becomes `anyOf`.
 */
export function narrowBranches(
  copy: JSONObject,
  schema: JSONObject,
  document: OpenAPIDocument,
  base: string,
): JSONObject {
  const discriminator = ownObject(schema, "discriminator");
  const property = ownString(discriminator, "propertyName");
  if (property === undefined || !Array.isArray(copy["oneOf"])) return copy;
  const values = mappedValues(discriminator!, document, base);
  const branches = ownList(schema, "oneOf");
  const { oneOf, ...rest } = copy;
  const targets = branches.map(
    (branch) => document.references.tryDeref({ value: branch, pointer: "", base: base })?.value,
  );
  const everyOneIsMapped = targets.every((target) => values.has(target) || fixes(target, property));
  if (!everyOneIsMapped) return { ...rest, [rest["anyOf"] === undefined ? "anyOf" : "oneOf"]: oneOf };
  const narrowed = (oneOf as unknown[]).map((branch, index) => {
    const target = targets[index];
    return fixes(target, property) ? branch : { allOf: [branch, holding(property, values.get(target)!)] };
  });
  return { ...rest, oneOf: narrowed };
}

function mappedValues(discriminator: JSONObject, document: OpenAPIDocument, base: string): Map<unknown, string[]> {
  const values = new Map<unknown, string[]>();
  for (const [value, reference] of Object.entries(ownObject(discriminator, "mapping") ?? {})) {
    if (typeof reference !== "string") continue;
    // A bare name is the name of a component. Any other string is a reference.
    const isName = /^[A-Za-z0-9._-]+$/.test(reference);
    const found =
      (isName &&
        document.references.tryDeref({
          value: { $ref: `#/components/schemas/${reference}` },
          pointer: "",
          base: "",
        })) ||
      document.references.tryDeref({ value: { $ref: reference }, pointer: "", base: base });
    if (found) values.set(found.value, [...(values.get(found.value) ?? []), value]);
  }
  return values;
}

/** Whether a branch itself declares the allowed values of its discriminating property. */
function fixes(branch: unknown, property: string): boolean {
  const declared = ownObject(ownObject(branch, "properties"), property);
  return declared !== undefined && (Object.hasOwn(declared, "const") || Object.hasOwn(declared, "enum"));
}

function holding(property: string, values: string[]): JSONObject {
  const properties: JSONObject = {};
  setOwn(properties, property, { enum: values });
  return { properties, required: [property] };
}

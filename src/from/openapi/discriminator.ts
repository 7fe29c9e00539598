import type { OpenAPIDocument } from "./document.ts";
import type { Located } from "./references.ts";
import { isObject, type JSONObject, own, ownList, ownObject, ownText, put } from "./values.ts";

/**
 * Schemas that extend `base` with `allOf`, when `base` has a `discriminator` of its own: a value said to be of the
 * base type may be of any of them.
 */
export function subtypesOf(document: OpenAPIDocument, base: Located): Located[] {
  if (!isObject(own(base.value, "discriminator")) && ownText(base.value, "discriminator") === undefined) return [];
  if (own(base.value, "oneOf") !== undefined || own(base.value, "anyOf") !== undefined) return [];
  document.subtypes ??= readSubtypes(document);
  return document.subtypes.get(base.value) ?? [];
}

/** Every schema component by the ones that its `allOf` references, directly or through others. */
function readSubtypes(document: OpenAPIDocument): Map<unknown, Located[]> {
  const subtypes = new Map<unknown, Located[]>();
  for (const component of document.schemaComponents()) {
    const seen = new Set<unknown>([component.value]);
    const pending: Located[] = [component];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const branch of ownList(next.value, "allOf")) {
        const parent =
          typeof own(branch, "$ref") === "string"
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
 * Makes `oneOf` with a `discriminator` say what it means. A branch that the mapping names holds only with one of its
 * values; without a mapping the branches need not exclude each other, so `oneOf` becomes `anyOf`.
 */
export function narrowBranches(
  copy: JSONObject,
  schema: JSONObject,
  document: OpenAPIDocument,
  base: string,
): JSONObject {
  const discriminator = ownObject(schema, "discriminator");
  const property = ownText(discriminator, "propertyName");
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
    // A bare name means a component; everything else is a reference.
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

/** Whether a branch itself says which values its discriminating property may have. */
function fixes(branch: unknown, property: string): boolean {
  const declared = ownObject(ownObject(branch, "properties"), property);
  return declared !== undefined && (Object.hasOwn(declared, "const") || Object.hasOwn(declared, "enum"));
}

function holding(property: string, values: string[]): JSONObject {
  const properties: JSONObject = {};
  put(properties, property, { enum: values });
  return { properties, required: [property] };
}

import type { OpenAPIDocument } from "./document.ts";
import type { Direction } from "./schema-copy.ts";
import { isObject, type JSONObject, own, ownList, ownObject } from "./values.ts";

const nothing: ReadonlySet<string> = new Set();

/** Whether a property does not exist on this side of a call, by its own words or by those of what it references. */
export function isHidden(document: OpenAPIDocument, property: unknown, base: string, direction: Direction): boolean {
  const keyword = direction === "input" ? "readOnly" : "writeOnly";
  if (own(property, keyword) === true) return true;
  if (typeof own(property, "$ref") === "string")
    return own(document.references.tryDeref({ value: property, pointer: "", base })?.value, keyword) === true;
  // `allOf` around a single reference is how 3.0 puts a description beside one.
  const branches = ownList(property, "allOf");
  return branches.length === 1 && isHidden(document, branches[0], base, direction);
}

/**
 * Names of properties that are hidden in a schema or in any branch of its `allOf`. They cannot be required either,
 * whichever branch asks for them.
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
  const names = new Set(inherited);
  collect(document, schema, base, direction, names, new Set());
  return names;
}

function collect(
  document: OpenAPIDocument,
  schema: unknown,
  base: string,
  direction: Direction,
  names: Set<string>,
  seen: Set<unknown>,
): void {
  if (!isObject(schema) || seen.has(schema)) return;
  seen.add(schema);
  if (typeof own(schema, "$ref") === "string") {
    const found = document.references.tryDeref({ value: schema, pointer: "", base });
    if (found !== undefined) collect(document, found.value, found.base, direction, names, seen);
  }
  for (const [name, property] of Object.entries(ownObject(schema, "properties") ?? {})) {
    if (isHidden(document, property, base, direction)) names.add(name);
  }
  for (const branch of ownList(schema, "allOf")) collect(document, branch, base, direction, names, seen);
}

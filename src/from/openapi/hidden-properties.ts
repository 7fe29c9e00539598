import type { OpenAPIDocument } from "./document.ts";
import type { Direction } from "./schema-copy.ts";
import { type JSONObject, own, ownList, ownObject } from "./values.ts";

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
  const names = namesIn(document, schema, base, direction);
  if (inherited.size === 0) return names;
  return names.size === 0 ? inherited : new Set([...inherited, ...names]);
}

/**
 * Each schema is looked at once, however many others extend it, and without recursion: they may extend each other
 * further than the stack goes.
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

/** What a schema has to be as well: its reference and the branches of its `allOf`. */
function branchesOf(document: OpenAPIDocument, schema: unknown, base: string): Array<{ value: unknown; base: string }> {
  const branches = ownList(schema, "allOf").map((value) => ({ value, base }));
  if (typeof own(schema, "$ref") !== "string") return branches;
  const target = document.references.tryDeref({ value: schema, pointer: "", base });
  return target === undefined ? branches : [...branches, { value: target.value, base: target.base }];
}

function ownNames(document: OpenAPIDocument, schema: unknown, base: string, direction: Direction): Names {
  const properties = Object.entries(ownObject(schema, "properties") ?? {});
  const hidden = properties.filter(([, property]) => isHidden(document, property, base, direction));
  return hidden.length === 0 ? nothing : new Set(hidden.map(([name]) => name));
}

/** One set for all where only one has any names, as in a long line of extensions. */
function join(names: Names, branches: Array<{ value: unknown }>, known: ReadonlyMap<unknown, Names>): Names {
  const sets = [names, ...branches.map(({ value }) => known.get(value) ?? nothing)].filter(({ size }) => size > 0);
  return sets.length > 1 ? new Set(sets.flatMap((set) => [...set])) : (sets[0] ?? nothing);
}

import type { OpenAPIDocument } from "./document.ts";
import type { Entry } from "./entry.ts";
import type { Located } from "./references.ts";
import { own, ownList, ownObject } from "./values.ts";

/**
 * Whether the body of an entry declares a boolean `stream`: many services that answer both ways are asked for the
 * stream in the body, not by `Accept`.
 */
export function hasStreamSwitch(document: OpenAPIDocument, entry: Entry): boolean {
  return (entry.body?.media ?? []).some(({ schema }) => schema !== undefined && declares(document, schema, new Set()));
}

function declares(document: OpenAPIDocument, schema: Located, seen: Set<unknown>): boolean {
  const target = document.references.tryDeref(schema);
  if (target === undefined || seen.has(target.value)) return false;
  seen.add(target.value);
  const property = ownObject(ownObject(target.value, "properties"), "stream");
  if (property !== undefined) return allowsTrue(property);
  const branches = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => ownList(target.value, keyword));
  return branches.some((value) => declares(document, { ...target, value }, seen));
}

function allowsTrue(property: unknown): boolean {
  const type = own(property, "type");
  if (type === "boolean" || (Array.isArray(type) && type.includes("boolean"))) return true;
  return ["anyOf", "oneOf"].some((keyword) => ownList(property, keyword).some(allowsTrue));
}

import type { TSchema } from "typebox";
import type { Executable } from "./check.ts";
import { addPattern, addPatternProperties, type Report } from "./foreign-patterns.ts";
import { foreignOf } from "./from-schema.ts";
import { copySubschemas, isRecord, type SchemaObject } from "./keywords.ts";
import { hide } from "./marks.ts";
import { pointerTo } from "./schema-error.ts";

/**
 * Copies a document for TypeBox's compiler as it stands, but for its patterns. For documents in which the way to a
 * `$dynamicRef` decides where it leads: TypeBox then resolves all references itself.
 */
export function toVerbatim(root: TSchema, opened: ReadonlyMap<string, unknown>, report: Report): Executable {
  const isForeign = foreignOf(root) !== undefined;
  const context: Record<string, TSchema> = {};
  for (const [uri, document] of opened) context[uri] = copy(document, "", true, () => {}) as TSchema;
  return { context, schema: copy(root, "", isForeign, report) as TSchema };
}

function copy(schema: unknown, pointer: string, isForeign: boolean, report: Report): unknown {
  if (!isRecord(schema)) return schema;
  const node = copySubschemas(schema, (subschema, keyword, key) =>
    copy(subschema, pointerTo(pointer, keyword, key), isForeign, report),
  );
  // TypeBox does not find a document by a reference with an empty fragment.
  if (typeof node["$ref"] === "string") node["$ref"] = node["$ref"].replace(/(?<=.)#$/, "");
  if (Array.isArray(schema["~refine"])) hide(node, "~refine", schema["~refine"]);
  if (isForeign) replacePatterns(node, pointer, report);
  return node;
}

function replacePatterns(node: SchemaObject, pointer: string, report: Report): void {
  const { pattern, patternProperties } = node;
  if (typeof pattern === "string") {
    delete node["pattern"];
    addPattern(node, pattern, pointer, report);
  }
  if (!isRecord(patternProperties)) return;
  const toCheck = () => () => true; // never asked: patterns that need it are refused
  addPatternProperties(node, patternProperties, { pointer, report, isTracked: true, toCheck });
}

import type { TSchema } from "typebox";
import type { Executable } from "./check.ts";
import { addPattern, addPatternProperties, type Report } from "./foreign-patterns.ts";
import { foreignOf } from "./from-schema.ts";
import { copySubschemas, isRecord, type SchemaObject, schemasIn } from "./keywords.ts";
import { hide } from "./marks.ts";
import { pointerTo } from "./schema-error.ts";
import { StepMeter } from "./step-meter.ts";

/**
 * Copies a document for TypeBox's compiler as it stands, but for its patterns. For documents in which the way to a
 * `$dynamicRef` decides where it leads: TypeBox then resolves all references itself.
 */
export function toVerbatim(root: TSchema, opened: ReadonlyMap<string, unknown>, report: Report): Executable {
  const isForeign = foreignOf(root) !== undefined;
  const context: Record<string, TSchema> = {};
  const schemas = [...schemasIn([root, ...opened.values()])];
  const meter = new StepMeter(schemas.length);
  for (const [uri, document] of opened) context[uri] = copy(document, "", true, meter, () => {}) as TSchema;
  const schema = copy(root, "", isForeign, meter, report) as TSchema;
  const isTracked = schemas.some((it) => "unevaluatedProperties" in it || "unevaluatedItems" in it);
  return { context, schema, meter, isTracked };
}

function copy(schema: unknown, pointer: string, isForeign: boolean, meter: StepMeter, report: Report): unknown {
  if (!isRecord(schema)) return schema;
  const node = copySubschemas(schema, (subschema, keyword, key) =>
    copy(subschema, pointerTo(pointer, keyword, key), isForeign, meter, report),
  );
  // TypeBox does not find a document by a reference with an empty fragment.
  if (typeof node["$ref"] === "string") node["$ref"] = node["$ref"].replace(/(?<=.)#$/, "");
  const refinements = Array.isArray(schema["~refine"]) ? schema["~refine"] : [];
  // Schemas stay where pointers lead to them. Those that accept are counted last, others by one more branch.
  hide(node, "~refine", [...refinements, meter.refinement(true)]);
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    if (Array.isArray(node[keyword])) node[keyword] = [...node[keyword], meter.counter(keyword === "allOf")];
  }
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

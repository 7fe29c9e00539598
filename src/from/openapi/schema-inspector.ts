import { extendPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { Limits } from "../../operation/index.ts";
import { type Located, ReferenceProblem, type References } from "./references.ts";
import { holdingOf, isWellFormed, knownTypes } from "./schema-keywords.ts";

/** A problem in a schema. A `repaired` problem is worked around; any other makes the schema unusable. */
export interface SchemaProblem {
  kind: "external" | "dangling" | "unreadable" | "repaired";
  pointer: string;
  reason: string;
}

// Levels that an operation's schema adds around a declared schema: the object of arguments, alternatives, `$defs`.
const addedDepth = 6;

interface Inspection {
  /** Number of schemas in it, including itself but not its references. */
  size: number;
  problems: SchemaProblem[];
  targets: Located[];
}

/** Finds problems in schemas without converting them. Each schema is inspected once, even if many operations use it. */
export class SchemaInspector {
  readonly #references: References;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #inspections = new Map<unknown, Inspection>();
  #anyProblem = false;
  #size = 0;

  constructor(references: References, limits: Readonly<Required<Limits>>) {
    this.#references = references;
    this.#limits = limits;
  }

  /** Returns all problems in these schemas and in the schemas that they reference. */
  problemsOf(schemas: readonly Located[]): SchemaProblem[] {
    const pending = [...schemas];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (this.#inspections.has(next.value)) continue;
      for (const target of this.#inspect(next).targets) pending.push(target);
    }
    const mayBeTooLarge = this.#size > this.#limits.subschemas;
    return this.#anyProblem || mayBeTooLarge ? this.#collect(schemas) : [];
  }

  #collect(schemas: readonly Located[]): SchemaProblem[] {
    const problems: SchemaProblem[] = [];
    const seen = new Set<unknown>();
    const pending = [...schemas];
    const { subschemas } = this.#limits;
    let size = 0;
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (seen.has(next.value)) continue;
      seen.add(next.value);
      const inspection = this.#inspections.get(next.value);
      if (inspection === undefined) continue;
      size += inspection.size;
      if (size > subschemas) {
        const reason = `It needs more than ${subschemas} sub-schemas. Raise limits.subschemas to allow them.`;
        return [{ kind: "unreadable", pointer: schemas[0]!.pointer, reason }];
      }
      problems.push(...inspection.problems);
      // Do not spread: a schema may have more references than a function may have arguments.
      for (const target of inspection.targets) pending.push(target);
    }
    return problems;
  }

  #inspect(root: Located): Inspection {
    const inspection: Inspection = { size: 0, problems: [], targets: [] };
    this.#inspections.set(root.value, inspection);
    const onTheWay = new Set<unknown>();
    const maxDepth = this.#limits.schemaDepth - addedDepth;
    const visit = (value: unknown, pointer: () => string): void => {
      if (typeof value === "boolean" || onTheWay.has(value)) return;
      if (!isObject(value)) {
        this.#report(inspection, "unreadable", pointer(), `${quote(String(value))} is not a schema.`);
        return;
      }
      if (onTheWay.size >= maxDepth) {
        const reason = `It is nested more than ${maxDepth} levels deep. Raise limits.schemaDepth to allow it.`;
        this.#report(inspection, "unreadable", root.pointer, reason);
        return;
      }
      inspection.size += 1;
      onTheWay.add(value);
      this.#inspectKeywords(value, inspection, pointer);
      this.#inspectReference(value, root, inspection, pointer);
      for (const keyword of Object.keys(value)) visitKeyword(value, keyword, pointer);
      onTheWay.delete(value);
    };
    const visitKeyword = (schema: JSONObject, keyword: string, pointer: () => string): void => {
      const held = schema[keyword];
      const holding = holdingOf(keyword, held);
      if (holding === undefined) return;
      if (!isWellFormed(holding, held)) {
        const reason = `The value of ${keyword} is malformed and is ignored.`;
        this.#report(inspection, "repaired", extendPointer(pointer(), keyword), reason);
      } else if (holding === "one") {
        visit(held, () => extendPointer(pointer(), keyword));
      } else {
        for (const key of Object.keys(held as object)) {
          visit(getOwn(held, key), () => extendPointer(pointer(), keyword, key));
        }
      }
    };
    visit(root.value, () => root.pointer);
    this.#size += inspection.size;
    return inspection;
  }

  #inspectReference(schema: JSONObject, root: Located, inspection: Inspection, pointer: () => string): void {
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const reference = getOwn(schema, keyword);
      if (reference === undefined) continue;
      if (typeof reference !== "string") {
        this.#report(inspection, "unreadable", extendPointer(pointer(), keyword), `${keyword} is not a string`);
        continue;
      }
      try {
        const from = { value: schema, pointer: "", base: root.base };
        inspection.targets.push(this.#references.deref(this.#references.resolve(reference, from)));
      } catch (error) {
        if (!(error instanceof ReferenceProblem)) throw error;
        this.#report(inspection, error.kind, extendPointer(pointer(), keyword), error.message);
      }
    }
  }

  #inspectKeywords(schema: JSONObject, inspection: Inspection, pointer: () => string): void {
    const known = knownTypes(schema);
    const { pattern } = schema;
    if (typeof pattern === "string" && pattern.length > this.#limits.patternLength) {
      const reason = `The pattern is longer than ${this.#limits.patternLength} characters and is ignored.`;
      this.#report(inspection, "repaired", extendPointer(pointer(), "pattern"), reason);
    }
    if (known !== undefined && known.length < (Array.isArray(schema["type"]) ? schema["type"].length : 1)) {
      const reason = `${quote(JSON.stringify(schema["type"]) ?? "")} is not a JSON Schema type and is ignored.`;
      this.#report(inspection, "repaired", extendPointer(pointer(), "type"), reason);
    }
  }

  #report(inspection: Inspection, kind: SchemaProblem["kind"], pointer: string, reason: string): void {
    this.#anyProblem = true;
    inspection.problems.push({ kind, pointer, reason });
  }
}

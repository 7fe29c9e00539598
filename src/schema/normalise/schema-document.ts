import type { TSchema } from "typebox";
import { isObject } from "../../internal/objects.ts";
import { type CheckFunction, compileCheck } from "../check.ts";
import { compileSchema } from "../compile.ts";
import { toPartExecutable } from "../executable.ts";
import { FromSchema, foreignOf } from "../from-schema.ts";
import { forEachSubschema, type SchemaObject } from "../keywords.ts";
import { Resolver } from "../references.ts";

/** A schema, or a boolean for "any value" and "no value". */
export type Schema = SchemaObject | boolean;

const references = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

// Applicators that do not describe a part of the value, or only check it.
const notNormalised = new Set(["$defs", "definitions", "not", "contains", "propertyNames", "contentSchema"]);

/** A schema with its references, and the checks of its sub-schemas. */
export class SchemaDocument {
  /** The schema as a TypeBox type. */
  readonly root: SchemaObject;
  /** Whether the schema is foreign, so that its patterns must not run on the native engine. */
  readonly isForeign: boolean;
  readonly #given: TSchema;
  readonly #resolver: Resolver;
  readonly #checks = new Map<Schema, CheckFunction>();
  #hasSelfContainedParts: boolean | undefined;
  #hasReferences = false;

  constructor(schema: TSchema) {
    const isType = isObject(schema) && ("~kind" in schema || "~unsafe" in schema);
    this.root = (isType ? schema : FromSchema(schema)) as SchemaObject;
    const foreign = foreignOf(this.root);
    this.isForeign = foreign !== undefined;
    this.#given = schema;
    this.#resolver = new Resolver(this.root, { documents: foreign?.documents });
  }

  /**
   * Whether every sub-schema has the same meaning when it is checked alone. False if the target of a reference depends
   * on the evaluation path.
   */
  get hasSelfContainedParts(): boolean {
    this.#hasSelfContainedParts ??= this.#resolvesAllReferences();
    return this.#hasSelfContainedParts;
  }

  /** Whether any schema of the document refers to another. */
  get hasReferences(): boolean {
    return !this.hasSelfContainedParts || this.#hasReferences;
  }

  /** Returns the targets of a schema's references. */
  resolveAll(holder: SchemaObject): Schema[] {
    const targets: Schema[] = [];
    for (const keyword of references) {
      const reference = holder[keyword];
      if (typeof reference !== "string" || !Object.hasOwn(holder, keyword)) continue;
      const target =
        keyword === "$ref"
          ? this.#resolver.resolve(reference, holder)
          : this.#resolver.resolveDynamic(reference, holder);
      if (isObject(target) || typeof target === "boolean") targets.push(target);
    }
    return targets;
  }

  /** Returns the check of a sub-schema, which is compiled on its first call. */
  checkOf(schema: Schema): CheckFunction {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      check = (value) => {
        const compiled = this.#compile(schema);
        this.#checks.set(schema, compiled);
        return compiled(value);
      };
      this.#checks.set(schema, check);
    }
    return check;
  }

  /** Returns whether normalising a value of this schema can reach a schema that passes the test. */
  reaches(start: Schema, test: (schema: SchemaObject) => boolean): boolean {
    return this.#visit(start, notNormalised, test);
  }

  #compile(schema: Schema): CheckFunction {
    if (typeof schema === "boolean") return () => schema;
    if (schema === this.root) {
      const compiled = compileSchema(this.#given);
      return (value) => compiled.check(value);
    }
    const executable = toPartExecutable(schema, this.root as TSchema);
    if (executable === undefined) throw new Error("A part of this schema cannot be checked alone.");
    return compileCheck(executable);
  }

  #resolvesAllReferences(): boolean {
    const isUnresolved = (schema: SchemaObject) => {
      const expected = references.filter((keyword) => Object.hasOwn(schema, keyword)).length;
      if (expected > 0) this.#hasReferences = true;
      return expected > 0 && this.resolveAll(schema).length < expected;
    };
    return !this.#visit(this.root, new Set(["$defs", "definitions"]), isUnresolved);
  }

  /** Visits a schema and all schemas below it until `test` returns true. Returns whether it did. */
  #visit(start: Schema, ignored: ReadonlySet<string>, test: (schema: SchemaObject) => boolean): boolean {
    const seen = new Set<unknown>();
    const pending: unknown[] = [start];
    while (pending.length > 0) {
      const schema = pending.pop();
      if (!isObject(schema) || seen.has(schema)) continue;
      seen.add(schema);
      if (test(schema)) return true;
      pending.push(...this.resolveAll(schema));
      forEachSubschema(schema, (subschema, keyword) => {
        if (!ignored.has(keyword)) pending.push(subschema);
      });
    }
    return false;
  }
}

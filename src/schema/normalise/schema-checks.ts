import type { TSchema } from "typebox";
import { compileCheck } from "../check.ts";
import { compileSchema } from "../compile.ts";
import { toPartExecutable } from "../executable.ts";
import { FromSchema, foreignOf } from "../from-schema.ts";
import { forEachSubschema, isRecord, type SchemaObject } from "../keywords.ts";
import { Resolver } from "../references.ts";

/** A schema, or the booleans that stand for "anything" and "nothing". */
export type Schema = SchemaObject | boolean;

/** Tells whether a value fits. */
export type CheckFunction = (value: unknown) => boolean;

const references = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

/** Judges values by any sub-schema of one document, with the references of the whole document. */
export class SchemaChecks {
  /** The document, read as a TypeBox type. */
  readonly root: SchemaObject;
  /** Whether the document came from outside, so that its patterns must not be run as they are. */
  readonly isForeign: boolean;
  readonly #given: TSchema;
  readonly #resolver: Resolver;
  readonly #checks = new Map<Schema, CheckFunction>();
  #separable: boolean | undefined;
  #hasReferences = false;

  constructor(schema: TSchema) {
    const isType = isRecord(schema) && ("~kind" in schema || "~unsafe" in schema);
    this.root = (isType ? schema : FromSchema(schema)) as SchemaObject;
    const foreign = foreignOf(this.root);
    this.isForeign = foreign !== undefined;
    this.#given = schema;
    this.#resolver = new Resolver(this.root, { documents: foreign?.documents });
  }

  /** What the references of a schema lead to. */
  resolveAll(holder: SchemaObject): Schema[] {
    const targets: Schema[] = [];
    for (const keyword of references) {
      const target = this.#resolve(keyword, holder);
      if (target !== undefined) targets.push(target);
    }
    return targets;
  }

  /**
   * Whether a sub-schema means the same when it is judged alone. Not so with references that depend on the way
   * through the document.
   */
  get separable(): boolean {
    this.#separable ??= this.#findsAllReferences();
    return this.#separable;
  }

  /** Whether any schema of the document refers to another. */
  get hasReferences(): boolean {
    return !this.separable || this.#hasReferences;
  }

  /** The check of a sub-schema, compiled on its first call. */
  of(schema: Schema): CheckFunction {
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

  #compile(schema: Schema): CheckFunction {
    if (typeof schema === "boolean") return () => schema;
    if (schema === this.root) {
      const compiled = compileSchema(this.#given);
      return (value) => compiled.check(value);
    }
    const executable = toPartExecutable(schema, this.root as TSchema);
    if (executable === undefined) throw new Error("A part of this schema cannot be judged alone.");
    return compileCheck(executable);
  }

  #resolve(keyword: (typeof references)[number], holder: SchemaObject): Schema | undefined {
    const reference = holder[keyword];
    if (typeof reference !== "string" || !Object.hasOwn(holder, keyword)) return undefined;
    const found =
      keyword === "$ref" ? this.#resolver.resolve(reference, holder) : this.#resolver.resolveDynamic(reference, holder);
    return isRecord(found) || typeof found === "boolean" ? found : undefined;
  }

  #findsAllReferences(): boolean {
    const seen = new Set<unknown>();
    const pending: unknown[] = [this.root];
    while (pending.length > 0) {
      const schema = pending.pop();
      if (!isRecord(schema) || seen.has(schema)) continue;
      seen.add(schema);
      const targets = this.resolveAll(schema);
      if (targets.length < references.filter((keyword) => Object.hasOwn(schema, keyword)).length) return false;
      if (targets.length > 0) this.#hasReferences = true;
      pending.push(...targets);
      forEachSubschema(schema, (subschema, keyword) => {
        if (keyword !== "$defs" && keyword !== "definitions") pending.push(subschema);
      });
    }
    return true;
  }
}

import { Check, Compile } from "typebox/schema";
import { forEachSubschema, isRecord, type SchemaObject } from "../keywords.ts";
import { createResolver, type Resolver } from "../references.ts";

/** A schema, or the booleans that stand for "anything" and "nothing". */
export type Schema = SchemaObject | boolean;

/** Tells whether a value fits. Throws a `RangeError` when the value is nested too deeply. */
export type CheckFunction = (value: unknown) => boolean;

/** Judges values by any sub-schema of one document, with the references of the whole document. */
export class SchemaChecks {
  readonly #root: Schema;
  readonly #resolver: Resolver;
  readonly #checks = new Map<Schema, CheckFunction>();
  #context: Record<string, SchemaObject> | undefined;
  #separable: boolean | undefined;

  constructor(root: Schema) {
    this.#root = root;
    this.#resolver = createResolver(root);
  }

  /** What a `$ref` leads to; `undefined` when nowhere. */
  resolve(holder: SchemaObject): Schema | undefined {
    const found = this.#resolver.resolve(holder["$ref"] as string, holder)?.schema;
    return isRecord(found) || typeof found === "boolean" ? found : undefined;
  }

  /**
   * Whether a sub-schema means the same when it is judged alone. Not so with references that depend on the way
   * through the document, that lead nowhere, or that are spelled alike and lead to different places.
   */
  get separable(): boolean {
    this.#separable ??= this.#collectReferences();
    return this.#separable;
  }

  /** The check of a sub-schema, compiled on its first call. */
  of(schema: Schema): CheckFunction {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      let compiled: CheckFunction | undefined;
      check = (value) => {
        compiled ??= this.#compile(schema);
        return compiled(value);
      };
      this.#checks.set(schema, check);
    }
    return check;
  }

  #compile(schema: Schema): CheckFunction {
    if (typeof schema === "boolean") return () => schema;
    if (!this.separable && schema !== this.#root) throw new Error("A part of this schema cannot be judged alone.");
    const context = this.separable ? this.#context! : {};
    try {
      const validator = Compile(context, schema);
      return (value) => validator.Check(value);
    } catch {
      return (value) => Check(context, schema, value);
    }
  }

  #collectReferences(): boolean {
    this.#context = Object.create(null) as Record<string, SchemaObject>;
    const seen = new Set<unknown>();
    const pending: unknown[] = [this.#root];
    for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
      if (!isRecord(schema) || seen.has(schema)) continue;
      seen.add(schema);
      if (Object.hasOwn(schema, "$dynamicRef") || Object.hasOwn(schema, "$recursiveRef")) return false;
      if (typeof schema["$ref"] === "string" && !this.#addReference(schema["$ref"], schema, pending)) return false;
      forEachSubschema(schema, (subschema, keyword) => {
        if (keyword !== "$defs" && keyword !== "definitions") pending.push(subschema);
      });
    }
    return true;
  }

  #addReference(reference: string, holder: SchemaObject, pending: unknown[]): boolean {
    const target = this.resolve(holder);
    // TypeBox looks a reference up by its spelling, and only objects can stand there.
    const schema = typeof target === "boolean" ? (target ? {} : { not: {} }) : target;
    if (schema === undefined) return false;
    const known = this.#context![reference];
    if (known !== undefined && known !== target && typeof target !== "boolean") return false;
    this.#context![reference] = schema;
    pending.push(schema);
    return true;
  }
}

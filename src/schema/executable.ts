import type { TSchema } from "typebox";
import { logger } from "../internal/log.ts";
import { compileCheck, type Executable } from "./check.ts";
import { addPattern, addPatternProperties } from "./foreign-patterns.ts";
import { foreignOf, type SchemaReport } from "./from-schema.ts";
import { copySubschemas, isRecord, type SchemaObject, schemasIn } from "./keywords.ts";
import { assertions, hide } from "./marks.ts";
import { createResolver, type ResolvedReference, type Resolver } from "./references.ts";
import { guardInheritedNames, type Refinement } from "./refinements.ts";
import { describe, joinPointer, pointerTo, SchemaError } from "./schema-error.ts";
import { needsMeter, StepMeter } from "./step-meter.ts";
import { toVerbatim } from "./verbatim.ts";

/**
 * Makes the form of a type that TypeBox's compiler gets. Only what asserts something is in it; references are resolved
 * here, because TypeBox searches the whole document for each; foreign patterns run in linear time.
 */
export function toExecutable(schema: TSchema): Executable {
  const report = foreignOf(schema)?.onReport ?? warn;
  const builder = new ExecutableBuilder(schema as SchemaObject, report);
  return builder.build() ?? toVerbatim(schema, builder.opened, report);
}

/**
 * The same for a part of a document, with the references of the whole. `undefined` where the way to a reference
 * decides where it leads. Reports nothing: that is done when the document itself is used.
 */
export function toPartExecutable(part: object, root: TSchema): Executable | undefined {
  return new ExecutableBuilder(root as SchemaObject, () => {}).build(part as SchemaObject);
}

function warn({ pointer, reason }: SchemaReport): void {
  logger("schema").warn("{reason} (in the schema, at {pointer})", { pointer, reason });
}

class ExecutableBuilder {
  readonly #root: SchemaObject;
  readonly #report: (report: SchemaReport) => void;
  readonly #resolver: Resolver;
  readonly #context: Record<string, unknown> = {};
  readonly #names = new Map<unknown, string>();
  readonly #pending: Array<{ name: string; schema: unknown; pointer: string }> = [];
  #dependsOnTheWay = false;
  #hidesParts = false;
  #schemas: ReadonlySet<SchemaObject> | undefined;

  constructor(root: SchemaObject, report: (report: SchemaReport) => void) {
    this.#root = root;
    this.#report = report;
    this.#resolver = createResolver(root, { documents: foreignOf(root)?.documents });
  }

  /** The other documents that references lead to, by absolute URI. */
  get opened(): ReadonlyMap<string, unknown> {
    return this.#resolver.opened;
  }

  /** `undefined` where the way to a `$dynamicRef` decides where it leads. */
  build(start = this.#root): Executable | undefined {
    const isForeign = foreignOf(this.#root) !== undefined;
    const schema = this.#node(start, "", isForeign) as SchemaObject;
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) {
      this.#context[next.name] = this.#node(next.schema, next.pointer, isForeign);
    }
    if (this.#dependsOnTheWay) return undefined;
    // With `$schema` TypeBox does not look for changes of the base, which have no meaning any more.
    schema["$schema"] = "";
    const executable = { context: this.#context as Executable["context"], schema: schema as TSchema };
    // What a refinement checks is not seen from outside.
    const isMetered = this.#hidesParts || needsMeter(schema, this.#context);
    return isMetered && this.#names.size > 0 ? this.#metered(executable) : executable;
  }

  #metered(executable: Executable): Executable {
    const meter = new StepMeter(this.#names.size);
    for (const name of Object.keys(this.#context)) this.#context[name] = meter.count(this.#context[name]);
    return { ...executable, meter, isTracked: this.#mentions("unevaluatedProperties", "unevaluatedItems") };
  }

  #mentions(...keywords: string[]): boolean {
    this.#schemas ??= schemasIn([this.#root, ...this.opened.values()]);
    for (const schema of this.#schemas) if (keywords.some((keyword) => Object.hasOwn(schema, keyword))) return true;
    return false;
  }

  #node(schema: unknown, pointer: string, outerForeign: boolean): unknown {
    if (!isRecord(schema)) return schema;
    const isForeign = outerForeign || foreignOf(schema) !== undefined;
    const node = copySubschemas(
      schema,
      (subschema, keyword, key) => this.#node(subschema, pointerTo(pointer, keyword, key), isForeign),
      (keyword) => assertions.has(keyword),
    );
    const refinements = Array.isArray(schema["~refine"]) ? [...(schema["~refine"] as Refinement[])] : [];
    this.#addReferences(node, schema, pointer);
    if (isForeign) this.#replacePatterns(node, pointer, refinements);
    guardInheritedNames(node, refinements);
    if (refinements.length > 0) hide(node, "~refine", refinements);
    return node;
  }

  #replacePatterns(node: SchemaObject, pointer: string, refinements: Refinement[]): void {
    const { pattern, patternProperties } = node;
    if (typeof pattern === "string") {
      delete node["pattern"];
      addPattern(node, pattern, pointer, this.#report);
    }
    if (!isRecord(patternProperties)) return;
    delete node["patternProperties"];
    const refinement = addPatternProperties(node, patternProperties, {
      pointer,
      report: this.#report,
      isTracked: this.#mentions("unevaluatedProperties"),
      toCheck: (schema) => this.#toCheck(schema),
    });
    if (refinement === undefined) return;
    this.#hidesParts = true;
    refinements.push(refinement);
  }

  #toCheck(schema: unknown): (value: unknown) => boolean {
    let check: ((value: unknown) => boolean) | undefined;
    return (value) => {
      check ??= compileCheck({ context: this.#context as Executable["context"], schema: schema as TSchema });
      return check(value);
    };
  }

  #addReferences(node: SchemaObject, schema: SchemaObject, pointer: string): void {
    const names: string[] = [];
    for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      const reference = schema[keyword];
      if (typeof reference !== "string") continue;
      delete node[keyword];
      const isStatic = keyword === "$ref";
      const target = isStatic
        ? this.#resolver.resolve(reference, schema)
        : this.#resolver.resolveDynamic(reference, schema);
      if (target !== undefined || isStatic) names.push(this.#nameOf(target, reference, joinPointer(pointer, keyword)));
      else this.#dependsOnTheWay = true;
    }
    if (names.length > 0) node["$ref"] = names[0];
    if (names.length > 1) {
      node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), ...names.slice(1).map(($ref) => ({ $ref }))];
    }
  }

  #nameOf(found: ResolvedReference | undefined, reference: string, pointer: string): string {
    const target = this.#followChain(found, reference, pointer);
    let name = this.#names.get(target);
    if (name === undefined) {
      name = `#${this.#names.size}`;
      this.#names.set(target, name);
      this.#pending.push({ name, schema: target, pointer });
    }
    return name;
  }

  /** A long chain of schemas that only refer on would overflow the stack; one that leads back never ends. */
  #followChain(found: ResolvedReference | undefined, reference: string, pointer: string): unknown {
    const seen = new Set<unknown>();
    let target = found;
    for (;;) {
      if (target === undefined) {
        throw new SchemaError(pointer, `${describe(reference)} leads to nothing in this schema.`);
      }
      const { schema } = target;
      if (!isRecord(schema) || !isOnlyReference(schema)) return schema;
      if (seen.has(schema)) throw new SchemaError(pointer, `${describe(reference)} only leads back to itself.`);
      seen.add(schema);
      target = this.#resolver.resolve(schema["$ref"] as string, schema);
    }
  }
}

function isOnlyReference(schema: SchemaObject): boolean {
  if (typeof schema["$ref"] !== "string" || "~refine" in schema) return false;
  return Object.keys(schema).every((keyword) => keyword === "$ref" || !assertions.has(keyword));
}

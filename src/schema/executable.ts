import type { TSchema } from "typebox";
import { extendPointer } from "../internal/json-pointer.ts";
import { logger } from "../internal/log.ts";
import { isObject } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import { type CheckFunction, compileCheck, type Executable } from "./check.ts";
import { foreignOf, type SchemaReport } from "./from-schema.ts";
import { assertions, copySubschemas, type SchemaObject, schemasIn } from "./keywords.ts";
import { addPattern, addPatternProperties, type PatternContext } from "./linear-pattern.ts";
import { type Refinement, refine, refinementsOf } from "./marks.ts";
import { Resolver } from "./references.ts";
import { SchemaError } from "./schema-error.ts";
import { needsMeter, StepMeter } from "./step-meter.ts";

/**
 * Converts a type into the form for TypeBox's compiler. It contains only assertions; its references are resolved,
 * because TypeBox searches the whole document for each; and its foreign patterns run in linear time.
 */
export function toExecutable(schema: TSchema): Executable {
  const report = foreignOf(schema)?.onReport ?? warn;
  const builder = new ExecutableBuilder(schema as SchemaObject, report);
  return builder.build() ?? copyDocument(schema, builder.opened, report);
}

/**
 * Converts a part of a document, with the references of the whole document. Returns `undefined` if the target of a
 * reference depends on the evaluation path. Reports nothing, because converting the whole document reports the same problems.
 */
export function toPartExecutable(part: object, root: TSchema): Executable | undefined {
  return new ExecutableBuilder(root as SchemaObject, () => {}).build(part as SchemaObject);
}

type Report = (report: SchemaReport) => void;

function warn({ pointer, reason }: SchemaReport): void {
  logger("schema").warn("{reason} (in the schema, at {pointer})", { pointer, reason });
}

class ExecutableBuilder {
  readonly #root: SchemaObject;
  readonly #report: Report;
  readonly #resolver: Resolver;
  readonly #context: Record<string, unknown> = {};
  readonly #names = new Map<unknown, string>();
  readonly #pending: Array<{ name: string; schema: unknown; pointer: string }> = [];
  #dependsOnPath = false;
  #hidesParts = false;
  #schemas: ReadonlySet<SchemaObject> | undefined;

  constructor(root: SchemaObject, report: Report) {
    this.#root = root;
    this.#report = report;
    this.#resolver = new Resolver(root, { documents: foreignOf(root)?.documents });
  }

  /** The other documents that references resolve to, by absolute URI. */
  get opened(): ReadonlyMap<string, unknown> {
    return this.#resolver.opened;
  }

  /** Returns `undefined` if the target of a `$dynamicRef` depends on the evaluation path. */
  build(start = this.#root): Executable | undefined {
    const isForeign = foreignOf(this.#root) !== undefined;
    const schema = this.#node(start, "", isForeign) as SchemaObject;
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) {
      this.#context[next.name] = this.#node(next.schema, next.pointer, isForeign);
    }
    if (this.#dependsOnPath) return undefined;
    // With `$schema`, TypeBox does not look for changes of the base, which have no effect after references are resolved.
    schema["$schema"] = "";
    const executable = { context: this.#context as Executable["context"], schema: schema as TSchema };
    // The schemas that a refinement checks are not visible to `needsMeter`.
    const isMetered = this.#hidesParts || needsMeter(schema, this.#context);
    return isMetered && this.#names.size > 0 ? this.#metered(executable) : executable;
  }

  #metered(executable: Executable): Executable {
    const meter = new StepMeter(this.#names.size);
    for (const name of Object.keys(this.#context)) this.#context[name] = meter.count(this.#context[name]);
    return { ...executable, meter, isTracked: this.#uses("unevaluatedProperties", "unevaluatedItems") };
  }

  #uses(...keywords: string[]): boolean {
    this.#schemas ??= schemasIn([this.#root, ...this.opened.values()]);
    return usesKeyword(this.#schemas, keywords);
  }

  #node(schema: unknown, pointer: string, outerForeign: boolean): unknown {
    if (!isObject(schema)) return schema;
    const isForeign = outerForeign || foreignOf(schema) !== undefined;
    const node = copySubschemas(
      schema,
      (subschema, ...path) => this.#node(subschema, extendPointer(pointer, ...path), isForeign),
      (keyword) => assertions.has(keyword),
    );
    const refinements = refinementsOf(schema);
    this.#addReferences(node, schema, pointer);
    if (isForeign) {
      const refinement = replacePatterns(node, {
        pointer,
        report: this.#report,
        isTracked: () => this.#uses("unevaluatedProperties"),
        toCheck: (part) => this.#toCheck(part),
      });
      if (refinement !== undefined) {
        this.#hidesParts = true;
        refinements.push(refinement);
      }
    }
    guardInheritedNames(node, refinements);
    return refinements.length > 0 ? refine(refinements, node) : node;
  }

  #toCheck(schema: unknown): CheckFunction {
    let check: CheckFunction | undefined;
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
      if (target !== undefined || isStatic)
        names.push(this.#nameOf(target, reference, extendPointer(pointer, keyword)));
      else this.#dependsOnPath = true;
    }
    if (names.length > 0) node["$ref"] = names[0];
    if (names.length > 1) {
      node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), ...names.slice(1).map(($ref) => ({ $ref }))];
    }
  }

  #nameOf(found: unknown, reference: string, pointer: string): string {
    const target = this.#followChain(found, reference, pointer);
    let name = this.#names.get(target);
    if (name === undefined) {
      name = `#${this.#names.size}`;
      this.#names.set(target, name);
      this.#pending.push({ name, schema: target, pointer });
    }
    return name;
  }

  /** Follows schemas that are only a `$ref`: a long chain of these would overflow the stack, and a cycle never ends. */
  #followChain(found: unknown, reference: string, pointer: string): unknown {
    const seen = new Set<unknown>();
    for (let target = found; ; target = this.#resolver.resolve(target["$ref"] as string, target)) {
      if (target === undefined) {
        throw new SchemaError(pointer, `${describeValue(reference)} does not resolve to a schema in this document.`);
      }
      if (!isObject(target) || !isOnlyReference(target)) return target;
      if (seen.has(target)) throw new SchemaError(pointer, `${describeValue(reference)} only refers to itself.`);
      seen.add(target);
    }
  }
}

function isOnlyReference(schema: SchemaObject): boolean {
  if (typeof schema["$ref"] !== "string" || "~refine" in schema) return false;
  return Object.keys(schema).every((keyword) => keyword === "$ref" || !assertions.has(keyword));
}

function usesKeyword(schemas: Iterable<SchemaObject>, keywords: readonly string[]): boolean {
  for (const schema of schemas) if (keywords.some((keyword) => Object.hasOwn(schema, keyword))) return true;
  return false;
}

/** Makes the foreign patterns of a node safe. Returns the refinement that replaces `patternProperties`, if one is needed. */
function replacePatterns(node: SchemaObject, context: PatternContext): Refinement | undefined {
  const { pattern, patternProperties } = node;
  if (typeof pattern === "string") {
    delete node["pattern"];
    addPattern(node, pattern, context);
  }
  if (!isObject(patternProperties)) return undefined;
  delete node["patternProperties"];
  return addPatternProperties(node, patternProperties, context);
}

// TypeBox tests `"toString" in value` for all names except these, and so finds inherited properties.
const testedAsOwn = new Set(["__proto__", "constructor"]);
const isInheritedName = (name: string) => name in Object.prototype && !testedAsOwn.has(name);

/** Prevents properties named like methods of `Object.prototype` from counting as present when they are inherited. */
function guardInheritedNames(node: SchemaObject, refinements: Refinement[]): void {
  const { properties, required } = node;
  if (isObject(properties)) {
    for (const name of Object.keys(properties).filter(isInheritedName)) {
      const inherited = (Object.prototype as unknown as SchemaObject)[name];
      const absent = refine([{ check: (value) => value === inherited, error: () => "must be absent" }]);
      properties[name] = { anyOf: [absent, properties[name]] };
    }
  }
  const names = Array.isArray(required) ? (required as string[]).filter(isInheritedName) : [];
  if (names.length === 0) return;
  refinements.push({
    check: (value) => !isObject(value) || names.every((name) => Object.hasOwn(value, name)),
    error: () => `must have the required properties ${names.map(describeValue).join(", ")}`,
  });
}

/**
 * Copies a document for TypeBox's compiler and changes only its patterns. For documents in which the target of a
 * `$dynamicRef` depends on the evaluation path: TypeBox then resolves all references.
 */
function copyDocument(root: TSchema, opened: ReadonlyMap<string, unknown>, report: Report): Executable {
  const schemas = schemasIn([root, ...opened.values()]);
  const meter = new StepMeter(schemas.size);
  const context: Record<string, TSchema> = {};
  for (const [uri, document] of opened) context[uri] = copyMetered(document, "", true, meter, () => {}) as TSchema;
  const schema = copyMetered(root, "", foreignOf(root) !== undefined, meter, report) as TSchema;
  return { context, schema, meter, isTracked: usesKeyword(schemas, ["unevaluatedProperties", "unevaluatedItems"]) };
}

function copyMetered(schema: unknown, pointer: string, isForeign: boolean, meter: StepMeter, report: Report): unknown {
  if (!isObject(schema)) return schema;
  const node = copySubschemas(schema, (subschema, ...path) =>
    copyMetered(subschema, extendPointer(pointer, ...path), isForeign, meter, report),
  );
  // TypeBox does not find a document by a reference with an empty fragment.
  if (typeof node["$ref"] === "string") node["$ref"] = node["$ref"].replace(/(?<=.)#$/, "");
  // Schemas keep their location, so that pointers resolve. A refinement counts accepted values, an additional branch the others.
  refine([...refinementsOf(schema), meter.refinement(true)], node);
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    if (Array.isArray(node[keyword])) node[keyword] = [...node[keyword], meter.counter(keyword === "allOf")];
  }
  if (isForeign) {
    // With `isTracked` a pattern that would need a check is a SchemaError.
    replacePatterns(node, { pointer, report, isTracked: () => true, toCheck: () => () => true });
  }
  return node;
}

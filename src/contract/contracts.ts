import { isObject } from "../internal/objects.ts";
import { decodePercent } from "../internal/urls.ts";
import {
  constrains,
  copySubschemas,
  modelOf,
  type SchemaModel,
  type SchemaObject,
  type Shape,
} from "../schema/model.ts";

/** The parts of a spec that callers rely on. The schemas are those that callers see. */
export interface ContractSpec {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly errorSchemas?: ReadonlyArray<{ code: string; description?: string; schema: unknown }>;
}

/** Maximum depth of a schema. Deeper parts are not part of the contract. */
const maxDepth = 500;

/** A schema of an operation with the definitions that it refers to. */
export class ContractSchema {
  /** The schema as it was published. */
  readonly schema: unknown;
  readonly model: SchemaModel;
  readonly namespace: string;
  /** The schema without annotations and definitions, whose references are {@link Definition}s. */
  readonly canonical: unknown;
  /** Definitions by the schema that they name, in the order of their first references. */
  readonly definitions = new Map<object, Definition>();
  readonly #name: string;
  #byShape: Map<Shape, Definition> | undefined;

  /** @param name - the name of the type of the whole schema, if it refers to itself */
  constructor(schema: unknown, namespace: string, name: string) {
    this.schema = schema;
    this.model = modelOf(schema);
    this.namespace = namespace;
    this.#name = name;
    this.canonical = this.#toCanonical(schema);
  }

  /** Returns the definition that has the values of a shape, unless these are any values. */
  definitionOf(shape: Shape): Definition | undefined {
    this.#byShape ??= new Map([...this.definitions.values()].map((each) => [each.shape.core, each]));
    return shape.core.schemas.length === 0 ? undefined : this.#byShape.get(shape.core);
  }

  /** Returns the target of the reference of a schema: a definition, a boolean, or `undefined` if it is not in the document. */
  #follow(holder: SchemaObject): Definition | boolean | undefined {
    const reference = holder["$ref"] as string;
    const target = this.model.resolve(reference, holder);
    if (!isObject(target)) return target === false ? false : undefined;
    const known = this.definitions.get(target);
    if (known !== undefined) return known;
    const [uri = "", fragment = ""] = reference.split("#");
    const name = decodePercent(fragment)?.split("/").at(-1) || uri.split("/").at(-1) || this.#name;
    const definition = new Definition(this, target, name);
    this.definitions.set(target, definition);
    definition.canonical = this.#toCanonical(target);
    return definition;
  }

  #toCanonical(schema: unknown, depth = 0): unknown {
    if (!isObject(schema) || depth > maxDepth) return schema !== false;
    const target = typeof schema["$ref"] === "string" ? this.#follow(schema) : undefined;
    if (target === false || (target !== undefined && this.model.ignoresSiblings)) return target && { $ref: target };
    const isKept = (keyword: string) =>
      constrains(keyword) && keyword !== "$ref" && (keyword === "const" || schema[keyword] !== null);
    const copy = copySubschemas(schema, (part) => this.#toCanonical(part, depth + 1), isKept);
    if (Array.isArray(copy["required"])) copy["required"] = [...copy["required"]].sort();
    return target === undefined ? copy : { $ref: target, ...copy };
  }
}

/** A named type. Equal ones of several documents get the same name. */
export class Definition {
  /** The name in its document; later the identifier that is printed. */
  name: string;
  /** What it contains. Set after it was created, because it may refer to itself. */
  canonical: unknown;
  readonly owner: ContractSchema;
  readonly schema: SchemaObject;

  constructor(owner: ContractSchema, schema: SchemaObject, name: string) {
    this.owner = owner;
    this.schema = schema;
    this.name = name;
  }

  /** What its values are. */
  get shape(): Shape {
    return this.owner.model.shape([this.schema]);
  }

  /** Key in the definitions of a lock. */
  get key(): string {
    return `${this.owner.namespace}.${this.name}`;
  }

  /** Returns the reference to this definition in a lock. */
  toJSON(): string {
    return `#/$defs/${encodeURIComponent(this.key)}`;
  }
}

/** What callers of one operation rely on. */
export interface Contract {
  readonly spec: ContractSpec;
  readonly input: ContractSchema;
  readonly output: ContractSchema;
  /** The details of declared errors, sorted by code. */
  readonly errors: ReadonlyArray<{ code: string; description: string | undefined; details: ContractSchema }>;
}

/** The operations of one namespace. */
export interface NamespaceContracts {
  readonly namespace: string;
  /** The named types that its operations share, sorted by name. */
  readonly definitions: readonly Definition[];
  readonly contracts: readonly Contract[];
}

/** Reads the contracts of operations. Namespaces and operations are sorted, so that the result is the same in every run. */
export function readContracts(specs: readonly ContractSpec[]): NamespaceContracts[] {
  const namespaces = [...new Set(specs.map(({ namespace }) => namespace))].sort();
  return namespaces.map((namespace) => {
    const own = specs.filter((spec) => spec.namespace === namespace);
    const contracts = sortBy(own, "name").map(readContract);
    // Outputs come first: the types that callers work with keep their names, if an input has the same name.
    const schemas = contracts.flatMap(({ input, output, errors }) => [
      output,
      ...errors.map((it) => it.details),
      input,
    ]);
    const definitions = nameDefinitions(schemas.flatMap((schema) => [...schema.definitions.values()]));
    return { namespace, definitions, contracts };
  });
}

function readContract(spec: ContractSpec): Contract {
  const read = (schema: unknown, name: string) => new ContractSchema(schema, spec.namespace, name);
  const errors = sortBy(spec.errorSchemas ?? [], "code").map(({ code, description, schema }) => {
    return { code, description, details: read(schema, code) };
  });
  const output = read(spec.outputSchema, `${spec.name} output`);
  return { spec, input: read(spec.inputSchema, `${spec.name} input`), output, errors };
}

/** Names definitions. Those with equal names, contents and references get the same name. Returns one for each name, sorted. */
function nameDefinitions(definitions: readonly Definition[]): Definition[] {
  const identifiers = definitions.map(({ name }) => toIdentifier(name));
  for (const [index, definition] of definitions.entries()) definition.name = identifiers[index]!;
  // Definitions may be recursive. At first, equal identifiers are one name. Each round assigns definitions that differ
  // different names. In the next round, this distinguishes the definitions that refer to them.
  for (let count = 0, previous = -1; count !== previous; ) {
    previous = count;
    const names = new Map<string, string>();
    const taken = new Set<string>();
    const next = definitions.map((definition, index) => {
      const content = `${definition.name} ${JSON.stringify(definition.canonical)}`;
      const name = names.get(content) ?? uniqueName(identifiers[index]!, taken);
      names.set(content, name);
      return name;
    });
    for (const [index, definition] of definitions.entries()) definition.name = next[index]!;
    count = names.size;
  }
  const byName = new Map([...definitions].reverse().map((definition) => [definition.name, definition]));
  return sortBy([...byName.values()], "name");
}

/** Returns the name of a type or a TypeScript namespace for a foreign name: `simple-user` becomes `SimpleUser`. */
export function toIdentifier(name: string): string {
  const words = name.split(/[^\p{L}\p{Nd}]+/u).map((word) => word.replace(/^./u, (letter) => letter.toUpperCase()));
  return (words.join("") || "Type").replace(/^(?=\p{Nd})/u, "_");
}

/** Returns the name, with a number if it is taken, and takes it. */
export function uniqueName(name: string, taken: Set<string>): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count += 1) unique = `${name}_${count}`;
  taken.add(unique);
  return unique;
}

/** Sorts by code units, which is independent of the language of the system. The keys are unique. */
function sortBy<Key extends string, T extends Readonly<Record<Key, string>>>(values: readonly T[], key: Key): T[] {
  return [...values].sort((a, b) => (a[key] < b[key] ? -1 : 1));
}

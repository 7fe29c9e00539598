import { createHash } from "node:crypto";
import { isObject, setOwn } from "../../internal/objects.ts";
import { formatOperationId, type OperationSpec } from "../../operation/inside.ts";
import { Definition, SchemaReader, source, type TypeSchema } from "./read-schema.ts";

/** What callers of one operation rely on. */
export interface Contract {
  type: string;
  version: string;
  input: TypeSchema;
  output: TypeSchema;
  /** The details of declared errors by code. */
  errors: Readonly<Record<string, TypeSchema>>;
  /** Hash of all descriptions. */
  docs: string;
}

/** The operations of one namespace. */
export interface NamespaceContracts {
  namespace: string;
  /** The named types that its operations share, sorted by name. */
  definitions: Definition[];
  operations: Array<{ spec: OperationSpec; contract: Contract }>;
}

/** Version of the format of lock files. */
const lockVersion = 1;

/** Reads the contracts of operations. Namespaces and operations are sorted, so that the result is the same in every run. */
export function readContracts(specs: readonly OperationSpec[]): NamespaceContracts[] {
  const namespaces = [...new Set(specs.map(({ namespace }) => namespace))].sort();
  return namespaces.map((namespace) => {
    const own = specs.filter((spec) => spec.namespace === namespace);
    return readNamespace(namespace, sortBy(own, "name"));
  });
}

function readNamespace(namespace: string, specs: readonly OperationSpec[]): NamespaceContracts {
  const definitions: Definition[] = [];
  const read = (schema: unknown, name: string): TypeSchema => {
    const reader = new SchemaReader(schema, namespace, name);
    const type = reader.read(schema);
    definitions.push(...reader.definitions);
    return type;
  };
  const operations = specs.map((spec) => {
    const { name, type, version, errorSchemas = [] } = spec;
    // Outputs come first: the types that callers work with keep their names, if an input has the same name.
    const output = read(spec.outputSchema, `${name} output`);
    const errors: Record<string, TypeSchema> = {};
    for (const { code, description, schema } of sortBy(errorSchemas, "code")) {
      const details = read(schema, code);
      setOwn(errors, code, { ...details, [source]: { ...details[source], ...(description && { description }) } });
    }
    const input = read(spec.inputSchema, `${name} input`);
    return { spec, contract: { type, version, input, output, errors, docs: hashDocs(spec) } };
  });
  return { namespace, definitions: nameDefinitions(definitions), operations };
}

/**
 * Names definitions. Those with equal names, structures and references get the same name, because every schema repeats
 * the definitions that it uses. Returns one for each name, sorted.
 */
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
      const content = `${definition.name} ${JSON.stringify(definition.schema)}`;
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

/** Returns a short hash of all descriptions of an operation, independent of their order. */
function hashDocs({ title, description, inputSchema, outputSchema, errorSchemas }: OperationSpec): string {
  const texts = new Set<string>();
  JSON.stringify({ title, description, inputSchema, outputSchema, errorSchemas }, (key, value: unknown) => {
    // A property may have one of these names too. Its value is a schema.
    const isText = ["title", "description", "default", "deprecated"].includes(key) && !isObject(value);
    if (isText) texts.add(`${key} ${JSON.stringify(value)}`);
    return value;
  });
  return createHash("sha256")
    .update(JSON.stringify([...texts].sort()))
    .digest("hex")
    .slice(0, 16);
}

/**
 * Prints the contracts of operations as they are kept in `operations.lock.json`: JSON Schemas without documentation, with
 * one line for every operation and every definition, so that a difference between two versions is small.
 */
export function printLock(specs: readonly OperationSpec[]): string {
  const namespaces = readContracts(specs);
  const print = (members: ReadonlyArray<[key: string, value: unknown]>) => {
    const lines = members.map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
    return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n  }`;
  };
  const operations = namespaces.flatMap((each) => each.operations);
  const definitions = namespaces.flatMap((each) => each.definitions);
  return `{
  "lockVersion": ${lockVersion},
  "operations": ${print(operations.map(({ spec, contract }) => [formatOperationId(spec.namespace, spec.name), contract]))},
  "$defs": ${print(definitions.map(({ key, schema }) => [key, schema]))}
}
`;
}

/** Reads the contracts of a lock file by id. Throws a `SyntaxError` for anything else. */
export function parseLock(text: string): Map<string, Contract> {
  const references: Array<{ $ref: unknown }> = [];
  const lock: unknown = JSON.parse(text, (_key, value: unknown) => {
    if (isObject(value) && typeof value["$ref"] === "string") references.push(value as { $ref: unknown });
    return value;
  });
  if (!isObject(lock) || lock["lockVersion"] !== lockVersion || !isObject(lock["operations"])) {
    throw new SyntaxError(`it is not a lock file of version ${lockVersion}.`);
  }
  const definitions = new Map(
    Object.entries(isObject(lock["$defs"]) ? lock["$defs"] : {}).map(([key, schema]) => {
      const definition = new Definition(key.split(".")[0]!, key.slice(key.indexOf(".") + 1));
      return [definition.toJSON(), Object.assign(definition, { schema })];
    }),
  );
  for (const reference of references) reference.$ref = definitions.get(reference.$ref as string) ?? reference.$ref;
  return new Map(Object.entries(lock["operations"] as Record<string, Contract>));
}

/** Sorts by code units, which is independent of the language of the system. The keys are unique. */
function sortBy<Key extends string, T extends Record<Key, string>>(values: readonly T[], key: Key): T[] {
  return [...values].sort((a, b) => (a[key] < b[key] ? -1 : 1));
}

import { formatOperationId, type OperationSpec } from "../../operation/index.ts";
import { docsOf, escapeTags, SchemaReader } from "./read-schema.ts";
import { type GivenType, shareTypes } from "./share-types.ts";
import type { Definition, TypeNode } from "./type-node.ts";

/** The types of one operation. */
export interface OperationTypes {
  spec: OperationSpec;
  /** Text of the doc comment. */
  docs: string | undefined;
  input: TypeNode;
  output: TypeNode;
  /** The details of declared errors. */
  errors: Array<{ code: string; docs: string | undefined; type: TypeNode }>;
}

/** The operations of one namespace. */
export interface NamespaceTypes {
  namespace: string;
  /** The named types that its operations share. */
  definitions: Definition[];
  operations: OperationTypes[];
}

/** Reads the types of operations, by namespace. Namespaces and operations are sorted, so that the result is the same in every run. */
export function readOperations(specs: readonly OperationSpec[]): NamespaceTypes[] {
  const groups = new Map<string, OperationSpec[]>();
  for (const spec of sortBy(specs, ({ namespace, name }) => formatOperationId(namespace, name))) {
    const group = groups.get(spec.namespace);
    if (group === undefined) groups.set(spec.namespace, [spec]);
    else group.push(spec);
  }
  return sortBy([...groups.keys()], (namespace) => namespace).map((namespace) =>
    readNamespace(namespace, groups.get(namespace)!),
  );
}

function readNamespace(namespace: string, specs: readonly OperationSpec[]): NamespaceTypes {
  const given: GivenType[] = [];
  for (const { name, inputSchema, outputSchema, errorSchemas = [] } of specs) {
    // Outputs come first: the types that callers work with keep their names, if an input has the same name.
    given.push(readRoot(outputSchema, `${name} output`));
    for (const { code, schema } of errorSchemas) given.push({ ...readRoot(schema, code), isInline: false });
    given.push(readRoot(inputSchema, `${name} input`));
  }
  const { types, definitions } = shareTypes(given);
  const shared = types.values();
  const next = () => shared.next().value as TypeNode;
  const operations = specs.map((spec): OperationTypes => {
    const output = next();
    const errors = (spec.errorSchemas ?? []).map(({ code, description, schema }) => {
      return { code, docs: docsOf({ description }) ?? docsOf(schema), type: next() };
    });
    return { spec, docs: docsOfOperation(spec), input: next(), output, errors: sortBy(errors, ({ code }) => code) };
  });
  return { namespace, definitions, operations };
}

function readRoot(schema: unknown, name: string): GivenType {
  return { name, type: new SchemaReader(schema, name).read(schema), isInline: true };
}

/** Returns the text of the doc comment of an operation: its title and description. */
export function docsOfOperation({ title, description }: OperationSpec): string | undefined {
  const parts = [title, description].filter((part) => part !== undefined && part.trim() !== "");
  if (parts.length === 2 && parts[0] === parts[1]) parts.pop();
  return parts.length > 0 ? escapeTags(parts.map((part) => part!.trim()).join("\n\n")) : undefined;
}

/** Sorts by code units, which is independent of the language of the system. */
function sortBy<T>(values: readonly T[], keyOf: (value: T) => string): T[] {
  return [...values].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0));
}

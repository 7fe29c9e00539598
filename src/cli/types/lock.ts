import { createHash } from "node:crypto";
import { isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { formatOperationId, type OperationSpec } from "../../operation/index.ts";
import { type OperationTypes, readOperations } from "./operation-types.ts";
import { SchemaReader } from "./read-schema.ts";
import { forEachPart, type TypeNode } from "./type-node.ts";

/** The contract of one operation. */
export interface Contract {
  type: string;
  version: string;
  input: TypeNode;
  output: TypeNode;
  /** The details of declared errors by code. */
  errors: ReadonlyMap<string, TypeNode>;
  /** Hash of all that is documentation. */
  docs: string;
}

/** Contracts by id. */
export type Contracts = ReadonlyMap<string, Contract>;

/** Version of the format of lock files. */
const lockVersion = 1;

/**
 * Prints the contracts of operations as they are kept in `operations.lock.json`: JSON Schemas without documentation, with
 * one line for every operation and every shared definition, so that a difference between two versions is small.
 */
export function printLock(specs: readonly OperationSpec[]): string {
  const definitions: string[] = [];
  const operations: string[] = [];
  for (const group of readOperations(specs)) {
    const print = (type: TypeNode) => toSchema(type, group.namespace);
    for (const { name, type } of group.definitions) {
      definitions.push(printMember(definitionName(group.namespace, name), print(type)));
    }
    for (const operation of group.operations) {
      const { spec, input, output, errors } = operation;
      const details: JSONObject = {};
      for (const { code, type } of errors) setOwn(details, code, print(type));
      const { type, version } = spec;
      const docs = hashDocs(operation);
      const contract = { type, version, input: print(input), output: print(output), errors: details, docs };
      operations.push(printMember(formatOperationId(spec.namespace, spec.name), contract));
    }
  }
  return `{
  "lockVersion": ${lockVersion},
  "operations": {${operations.join(",")}${operations.length > 0 ? "\n  " : ""}},
  "$defs": {${definitions.join(",")}${definitions.length > 0 ? "\n  " : ""}}
}
`;
}

function printMember(key: string, value: unknown): string {
  return `\n    ${JSON.stringify(key)}: ${JSON.stringify(value)}`;
}

function definitionName(namespace: string, name: string): string {
  return `${namespace}.${name}`;
}

/** Reads a lock file. Throws a `SyntaxError` for anything else. */
export function parseLock(text: string): Contracts {
  const lock: unknown = JSON.parse(text);
  if (!isObject(lock) || lock["lockVersion"] !== lockVersion || !isObject(lock["operations"])) {
    throw new SyntaxError(`it is not a lock file of version ${lockVersion}.`);
  }
  const reader = new SchemaReader(lock, "lock");
  return new Map(
    Object.entries(lock["operations"]).map(([id, value]) => {
      const { type, version, input, output, errors, docs } = isObject(value) ? value : {};
      const contract: Contract = {
        type: String(type),
        version: String(version),
        input: reader.read(input),
        output: reader.read(output),
        errors: new Map(
          Object.entries(isObject(errors) ? errors : {}).map(([code, schema]) => [code, reader.read(schema)]),
        ),
        docs: String(docs),
      };
      return [id, contract];
    }),
  );
}

/** Writes a type as a JSON Schema that reads as the same type. */
function toSchema(type: TypeNode, namespace: string): unknown {
  const convert = (part: TypeNode) => toSchema(part, namespace);
  switch (type.kind) {
    case "primitive": {
      if (type.name === "unknown") return true;
      if (type.name === "never") return false;
      const { integer, ...constraints } = type.constraints ?? {};
      return { type: integer === true ? "integer" : type.name, ...constraints };
    }
    case "literal":
      return { const: type.value };
    case "reference":
      return { $ref: `#/$defs/${encodeURIComponent(definitionName(namespace, type.to.name))}` };
    case "union": {
      const isEnum = type.parts.every(({ kind }) => kind === "literal");
      return isEnum
        ? { enum: type.parts.map((part) => (part as { value?: unknown }).value) }
        : { anyOf: type.parts.map(convert) };
    }
    case "intersection":
      return { allOf: type.parts.map(convert) };
    case "array": {
      const { items, rest, constraints } = type;
      if (items.length === 0) return { type: "array", ...(rest && { items: convert(rest) }), ...constraints };
      const others = rest === undefined ? false : convert(rest);
      return { type: "array", prefixItems: items.map(convert), items: others, ...constraints };
    }
    case "object": {
      const properties: JSONObject = {};
      for (const property of type.properties) setOwn(properties, property.name, convert(property.type));
      const required = type.properties.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
      const rest = type.rest === undefined ? undefined : convert(type.rest);
      return {
        type: "object",
        ...(type.properties.length > 0 && { properties }),
        ...(required.length > 0 && { required }),
        ...(rest !== undefined && type.isClosed && { patternProperties: { "": rest } }),
        ...(type.isClosed ? { additionalProperties: false } : rest !== undefined && { additionalProperties: rest }),
        ...type.constraints,
      };
    }
  }
}

/** Returns a short hash of the documentation of an operation and of all types that it uses, independent of their order. */
function hashDocs({ docs, input, output, errors }: OperationTypes): string {
  const texts = [docs, ...errors.map((error) => error.docs)];
  const seen = new Set<unknown>();
  const add = (type: TypeNode): void => {
    if (type.kind === "reference" && !seen.has(type.to)) {
      seen.add(type.to);
      texts.push(type.to.docs);
      add(type.to.type);
    }
    if (type.kind === "object") texts.push(...type.properties.map((property) => property.docs));
    forEachPart(type, add);
  };
  for (const type of [input, output, ...errors.map((error) => error.type)]) add(type);
  const known = texts.filter((text) => text !== undefined).sort();
  return createHash("sha256").update(JSON.stringify(known)).digest("hex").slice(0, 16);
}

import { canonicalJSON } from "../internal/canonical-json.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { decodePercent } from "../internal/urls.ts";
import { compareSchemas } from "./compare.ts";
import { type ContractSpec, readContracts } from "./contracts.ts";

/** One difference between two versions of an operation. */
export interface ContractChange {
  /** Id of the operation. */
  operation: string;
  /** What changed, as a sentence. */
  message: string;
}

/** The differences between two versions of contracts, sorted by id. */
export interface ContractChanges {
  /** Callers that worked with the old contracts may fail with the new ones. */
  breaking: ContractChange[];
  /** Callers that worked with the old contracts also work with the new ones. */
  harmless: ContractChange[];
}

/** The contracts of a lock file. */
export interface Lock {
  /** The contract of each operation by id. */
  readonly operations: JSONObject;
  /** Returns the definition that a reference in a contract names. */
  resolve(reference: string): unknown;
}

/** Version of the format of lock files. */
const lockVersion = 1;

/**
 * Prints the contracts of operations as they are kept in `operations.lock.json`: JSON Schemas without documentation, with
 * one line for every operation and every definition, so that a difference between two versions is small.
 */
export function printLock(specs: readonly ContractSpec[]): string {
  const namespaces = readContracts(specs);
  const print = (members: ReadonlyArray<[key: string, value: unknown]>) => {
    const lines = members.map(([key, value]) => `    ${JSON.stringify(key)}: ${canonicalJSON(value)}`);
    return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n  }`;
  };
  const operations = namespaces.flatMap(({ contracts }) =>
    contracts.map(({ spec, input, output, errors }): [string, JSONObject] => {
      const details = Object.fromEntries(errors.map((error) => [error.code, error.details.canonical]));
      const { namespace, name, type, version } = spec;
      const schemas = { input: input.canonical, output: output.canonical, errors: details };
      return [`${namespace}.${name}`, { type, version, ...schemas, docs: hashDocs(spec) }];
    }),
  );
  const definitions = namespaces.flatMap((each) => each.definitions);
  return `{
  "lockVersion": ${lockVersion},
  "operations": ${print(operations)},
  "$defs": ${print(definitions.map(({ key, canonical }) => [key, canonical]))}
}
`;
}

/** Reads a lock file. Throws a `SyntaxError` for anything else. */
export function parseLock(text: string): Lock {
  const lock: unknown = JSON.parse(text);
  if (!isObject(lock) || lock["lockVersion"] !== lockVersion || !isObject(lock["operations"])) {
    throw new SyntaxError(`it is not a lock file of version ${lockVersion}.`);
  }
  const resolve = (reference: string) => getOwn(lock["$defs"], decodePercent(reference.replace("#/$defs/", "")) ?? "");
  return { operations: lock["operations"], resolve };
}

/** Compares two versions of contracts. */
export function compareContracts(before: Lock, after: Lock): ContractChanges {
  const changes: ContractChanges = { breaking: [], harmless: [] };
  for (const operation of unite(before.operations, after.operations)) {
    for (const [message, isBreaking] of compareOperation(operation, before, after)) {
      changes[isBreaking ? "breaking" : "harmless"].push({ operation, message });
    }
  }
  return changes;
}

/** Returns the changes of one operation: their messages, and whether each is breaking. */
function compareOperation(operation: string, before: Lock, after: Lock): Map<string, boolean> {
  const [old, now] = [before, after].map(({ operations }) => getOwn(operations, operation) as JSONObject | undefined);
  if (old === undefined) return new Map([["The operation is new.", false]]);
  if (now === undefined) return new Map([["The operation was removed.", true]]);
  const changes = new Map<string, boolean>();
  const compare = (subject: string, from: unknown, to: unknown, isInput = false) => {
    const report = (path: string, text: string, isBreaking: boolean) => {
      const message = `${subject}${path === "" ? "" : ` at ${quote(path)}`} ${text}.`;
      changes.set(message, isBreaking || changes.get(message) === true);
    };
    compareSchemas({ schema: from, ...before }, { schema: to, ...after }, isInput, report);
  };
  if (old["type"] !== now["type"]) changes.set(`The type changed from ${old["type"]} to ${now["type"]}.`, true);
  compare("The input", old["input"], now["input"], true);
  compare("The output", old["output"], now["output"]);
  for (const code of unite(old["errors"], now["errors"])) {
    const [from, to] = [old, now].map(({ errors }) => getOwn(errors, code));
    if (from === undefined) changes.set(`The error ${quote(code)} is new.`, false);
    else if (to === undefined) changes.set(`The error ${quote(code)} was removed.`, true);
    else compare(`The details of the error ${quote(code)}`, from, to);
  }
  const [version, next] = [old, now].map((contract) => quote(String(contract["version"])));
  if (version !== next) changes.set(`The version changed from ${version} to ${next}.`, false);
  // Other changes mostly come with other documentation, which is not worth another line.
  if (changes.size === 0 && old["docs"] !== now["docs"]) changes.set("The documentation changed.", false);
  return changes;
}

/** Returns the keys of both, sorted. */
function unite(one: unknown, other: unknown): string[] {
  return [...new Set([one, other].flatMap((each) => (isObject(each) ? Object.keys(each) : [])))].sort();
}

/** Returns a short hash of all descriptions of an operation, independent of their order. */
function hashDocs({ title, description, inputSchema, outputSchema, errorSchemas }: ContractSpec): string {
  const texts = new Set<string>();
  JSON.stringify({ title, description, inputSchema, outputSchema, errorSchemas }, (key, value: unknown) => {
    // A property may have one of these names too. Its value is a schema.
    const isText = ["title", "description", "default", "deprecated"].includes(key) && !isObject(value);
    if (isText) texts.add(`${key} ${JSON.stringify(value)}`);
    return value;
  });
  const text = [...texts].sort().join("\n");
  // FNV-1a from two starts. It detects edits, and does not resist deliberate collisions.
  const hashes = [0x811c9dc5, 0x01000193].map((start) => {
    let hash = start;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    return (hash >>> 0).toString(16).padStart(8, "0");
  });
  return hashes.join("");
}

import { getOwn } from "../../internal/objects.ts";
import { quote, truncate } from "../../internal/text.ts";
import { Comparison } from "./compare-types.ts";
import type { Contract } from "./contracts.ts";
import type { TypeSchema } from "./read-schema.ts";

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

/** Compares two versions of contracts. */
export function compareContracts(
  before: ReadonlyMap<string, Contract>,
  after: ReadonlyMap<string, Contract>,
): ContractChanges {
  const changes: ContractChanges = { breaking: [], harmless: [] };
  for (const operation of unite(before.keys(), after.keys())) {
    for (const [message, isBreaking] of compareOperation(before.get(operation), after.get(operation))) {
      changes[isBreaking ? "breaking" : "harmless"].push({ operation, message });
    }
  }
  return changes;
}

/** Returns the changes of one operation: their messages, and whether each is breaking. */
function compareOperation(before: Contract | undefined, after: Contract | undefined): Map<string, boolean> {
  if (before === undefined) return new Map([["The operation is new.", false]]);
  if (after === undefined) return new Map([["The operation was removed.", true]]);
  const changes = new Map<string, boolean>();
  const compare = (subject: string, harmful: "isNarrowed" | "isWidened", old: TypeSchema, now: TypeSchema) => {
    const comparison = new Comparison((change) => {
      const { path, text } = change;
      const message = `${subject}${path === "" ? "" : ` at ${quote(path)}`} ${truncate(text, 200)}.`;
      changes.set(message, change[harmful] || changes.get(message) === true);
    });
    comparison.compare(old, now, "");
  };
  if (before.type !== after.type) changes.set(`The type changed from ${before.type} to ${after.type}.`, true);
  compare("The input", "isNarrowed", before.input, after.input);
  compare("The output", "isWidened", before.output, after.output);
  for (const code of unite(Object.keys(before.errors), Object.keys(after.errors))) {
    const [old, now] = [before.errors, after.errors].map((errors) => getOwn(errors, code) as TypeSchema | undefined);
    if (old === undefined) changes.set(`The error ${quote(code)} is new.`, false);
    else if (now === undefined) changes.set(`The error ${quote(code)} was removed.`, true);
    else compare(`The details of the error ${quote(code)}`, "isWidened", old, now);
  }
  if (before.version !== after.version) {
    changes.set(`The version changed from ${quote(before.version)} to ${quote(after.version)}.`, false);
  }
  // Other changes mostly come with other documentation, which is not worth another line.
  if (changes.size === 0 && before.docs !== after.docs) changes.set("The documentation changed.", false);
  return changes;
}

/** Returns the keys of both, sorted. */
function unite(keys: Iterable<string>, others: Iterable<string>): string[] {
  return [...new Set([...keys, ...others])].sort();
}

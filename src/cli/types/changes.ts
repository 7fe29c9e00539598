import { quote, truncate } from "../../internal/text.ts";
import { Comparison } from "./compare-types.ts";
import type { Contract, Contracts } from "./lock.ts";

/** One difference between two versions of the contracts. */
export interface ContractChange {
  /** Id of the operation. */
  operation: string;
  /** Whether callers that worked with the old contract may fail with the new one. */
  isBreaking: boolean;
  /** What changed, as a sentence. */
  message: string;
}

/** Compares two versions of contracts. The changes are sorted by id; those of one operation are in the order of its parts. */
export function compareContracts(before: Contracts, after: Contracts): ContractChange[] {
  const changes: ContractChange[] = [];
  for (const id of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const add = (isBreaking: boolean, message: string) => void changes.push({ operation: id, isBreaking, message });
    const [old, now] = [before.get(id), after.get(id)];
    if (old === undefined) add(false, "The operation is new.");
    else if (now === undefined) add(true, "The operation was removed.");
    else {
      const count = changes.length;
      compareOperation(old, now, add);
      // Other changes mostly come with other documentation, which is not worth another line.
      if (changes.length === count && old.docs !== now.docs) add(false, "The documentation changed.");
    }
  }
  return changes;
}

function compareOperation(
  before: Contract,
  after: Contract,
  add: (isBreaking: boolean, message: string) => void,
): void {
  const compare = (direction: "input" | "output", subject: string) =>
    new Comparison(({ effect, path, text }) => {
      const isBreaking = effect === "breaking" || effect === (direction === "input" ? "narrowed" : "widened");
      add(isBreaking, `${subject}${path === "" ? "" : ` at ${quote(path)}`} ${truncate(text, 200)}.`);
    });
  if (before.type !== after.type) add(true, `The type changed from ${before.type} to ${after.type}.`);
  compare("input", "The input").compare(before.input, after.input, "");
  compare("output", "The output").compare(before.output, after.output, "");
  for (const code of [...new Set([...before.errors.keys(), ...after.errors.keys()])].sort()) {
    const [old, now] = [before.errors.get(code), after.errors.get(code)];
    if (old === undefined) add(false, `The error ${quote(code)} is new.`);
    else if (now === undefined) add(true, `The error ${quote(code)} was removed.`);
    else compare("output", `The details of the error ${quote(code)}`).compare(old, now, "");
  }
  if (before.version !== after.version) {
    add(false, `The version changed from ${quote(before.version)} to ${quote(after.version)}.`);
  }
}

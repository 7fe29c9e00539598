import { quote } from "../internal/text.ts";
import { assertValidSpec, formatOperationId, mapError, type OperationSpec } from "../operation/index.ts";

/** What one peer says of an operation. */
export interface Offer {
  readonly spec: OperationSpec;
  /** The spec as text, to tell whether two are the same. */
  readonly text: string;
}

/** Hears what is wrong with what a peer announces. */
export type ReportProblem = (where: string, reason: string) => void;

/** More than this many problems of one announcement are not told one by one. */
const mostProblems = 20;

/**
 * What a peer announces, by id; the first of each, and not more than `most`. What is no spec is left out and reported:
 * a peer may say anything, and one bad operation must not cost the others.
 */
export function toOffers(specs: readonly OperationSpec[], most: number, report: ReportProblem): Map<string, Offer> {
  const offers = new Map<string, Offer>();
  let problems = 0;
  const skip = (where: string, reason: string) => {
    problems += 1;
    if (problems <= mostProblems) report(where, reason);
  };
  for (const [index, announced] of specs.entries()) {
    if (offers.size >= most) {
      report("specs", `A peer announces more than ${most} operations; the rest is left out. Raise limits.operations.`);
      break;
    }
    try {
      assertValidSpec(announced);
      const spec = copySpec(announced);
      const id = formatOperationId(spec.namespace, spec.name);
      if (offers.has(id)) skip(id, `A peer announces ${quote(id)} twice; the first counts.`);
      else offers.set(id, { spec, text: JSON.stringify(spec) });
    } catch (error) {
      skip(`specs/${index}`, `A peer announces something that is no operation: ${mapError(error).message}`);
    }
  }
  if (problems > mostProblems) report("specs", `${problems - mostProblems} more of this announcement were left out.`);
  return offers;
}

/** What a spec has, and nothing else: what came over a wire may have a handler, or pages, that are no functions. */
function copySpec(spec: OperationSpec): OperationSpec {
  const { namespace, name, version, type, description, inputSchema, outputSchema, accessControl } = spec;
  const copy: OperationSpec = { namespace, name, version, type, description, inputSchema, outputSchema, accessControl };
  if (spec.title !== undefined) copy.title = spec.title;
  if (spec.tags !== undefined) copy.tags = spec.tags;
  if (spec.errorSchemas !== undefined) copy.errorSchemas = spec.errorSchemas;
  if (spec.idempotent !== undefined) copy.idempotent = spec.idempotent;
  if (spec.outputPolicy !== undefined) copy.outputPolicy = spec.outputPolicy;
  if (spec._meta !== undefined) copy._meta = spec._meta;
  return copy;
}

import { quote } from "../internal/text.ts";
import { assertValidSpec, formatOperationId, mapError, type OperationSpec } from "../operation/index.ts";

/** What one peer says of an operation. */
export interface Offer {
  readonly spec: OperationSpec;
  /** The spec as text, to tell whether two are the same. */
  readonly text: string;
}

/** What is known already, and who hears of what is wrong. */
export interface OfferReader {
  /** The offer of an operation that has this text, if there is one. */
  find(id: string, text: string): Offer | undefined;
  report(where: string, reason: string): void;
}

/** More than this many problems of one announcement are not told one by one. */
const mostProblems = 20;

/**
 * What a peer announces, by id; the first of each, and not more than `most`. What is no spec is left out and reported:
 * a peer may say anything, and one bad operation must not cost the others.
 */
export function toOffers(
  specs: readonly OperationSpec[],
  most: number,
  { find, report }: OfferReader,
): Map<string, Offer> {
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
      const offer = readSpec(announced, find);
      const id = formatOperationId(offer.spec.namespace, offer.spec.name);
      if (offers.has(id)) skip(id, `A peer announces ${quote(id)} twice; the first counts.`);
      else offers.set(id, offer);
    } catch (error) {
      skip(`specs/${index}`, `A peer announces something that is no operation: ${mapError(error).message}`);
    }
  }
  if (problems > mostProblems) report("specs", `${problems - mostProblems} more of this announcement were left out.`);
  return offers;
}

/** Checking takes much longer than comparing, and what is the same need not be kept twice. */
function readSpec(announced: OperationSpec, find: OfferReader["find"]): Offer {
  const spec = copySpec(announced);
  const text = JSON.stringify(spec);
  const known = find(`${spec.namespace}.${spec.name}`, text);
  if (known !== undefined) return known;
  assertValidSpec(announced);
  return { spec, text };
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
  return copy;
}

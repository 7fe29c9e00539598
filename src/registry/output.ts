import type { TSchema } from "typebox";
import { holdsInexact, inexactNumbersIn } from "../internal/exact-json.ts";
import {
  CallError,
  type Drift,
  isResponseEnvelope,
  localEnvelope,
  mapError,
  type OutputPolicy,
  outputInvalid,
  type ResponseEnvelope,
  restoreData,
} from "../operation/index.ts";
import {
  compileSchema,
  createInstanceReader,
  createNormaliser,
  looksClassless,
  type Normalised,
  type QuickCheck,
  restoreDigits,
} from "../schema/index.ts";
import { markPipelineError } from "./failures.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { reportDrift } from "./reports.ts";

/** The step of an operation whose schema accepts any data. */
export const anything: OutputStep = {
  quickCheck: { isValid: (value) => !isIterator(value), isUnchanged: undefined },
  repair: (data) => ({ data }),
  restore: (data, digits) => restoreDigits({}, data, digits),
  keepsData: false,
};

/** Whether a value yields values later, as only subscriptions do. A stream of bytes is a value. */
function isIterator(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.asyncIterator]: iterate, next } = value as { [Symbol.asyncIterator]?: unknown; next?: unknown };
  if (iterate === undefined && typeof next !== "function") return false;
  const { pipe, getReader, [Symbol.iterator]: iterateNow } = value as Record<PropertyKey, unknown>;
  if (typeof pipe === "function" || typeof getReader === "function") return false;
  return typeof iterate === "function" || typeof iterateNow === "function";
}

function assertNoIterator({ id, isSubscription }: OperationEntry, value: unknown): void {
  if (!isIterator(value)) return;
  const advice = isSubscription ? "Yield its values" : 'Set its type to "subscription", or return the values in a list';
  const message = `The handler of "${id}" returned an iterator, which is not data. ${advice}.`;
  throw new CallError("EXECUTION_ERROR", message);
}

/** Wrap, check and normalise in one function, with the schema's part chosen once. */
export function createEnveloper(
  entry: OperationEntry,
  isTool: boolean,
  step: OutputStep,
): (value: unknown) => ResponseEnvelope {
  const { id } = entry;
  const { repair } = step;
  const { isValid, isUnchanged } = step.quickCheck;
  // An error that a tool reports has no schema. Under `strict` only the result of a tool counts as one.
  const passesErrors = isTool || step.isStrict !== true;
  const isClean = (value: unknown) => {
    try {
      return looksClassless(value) && isValid(value) && (isUnchanged === undefined || isUnchanged(value));
    } catch {
      return false; // nested too deeply, or a getter throws: repairing finds out which
    }
  };
  const finish = (envelope: ResponseEnvelope): ResponseEnvelope => {
    const { data, meta } = envelope;
    const isExempt = meta.source === "mcp" ? meta.isError && passesErrors : isEmptyBody(envelope);
    if (isExempt || isClean(data)) return envelope;
    const isStandIn = meta.source === "mcp" && data === meta.content;
    return isStandIn ? reportStandIn(entry, repair, envelope) : finishEnvelope(entry, repair, envelope);
  };
  return (value) => {
    try {
      if (isResponseEnvelope(value)) {
        const envelope = restoreData(value);
        const isForeign = envelope.meta.source !== "local";
        return isForeign && holdsInexact(typeof envelope.data === "number" ? envelope : envelope.data)
          ? finishInexact(entry, step, envelope, finish)
          : finish(envelope);
      }
      if (isClean(value)) return localEnvelope(value, id);
      assertNoIterator(entry, value);
      const { data, drift, driftTotal } = repair(value);
      const envelope = localEnvelope(data, id);
      return drift === undefined ? envelope : withDrift(entry, envelope, { data, drift, driftTotal });
    } catch (error) {
      throw mapError(error); // data may throw when it is read
    }
  };
}

/** What a policy does with data: `repair` is called for data that does not pass `quickCheck`. */
export interface OutputStep {
  /** For data that is valid and needs no change. */
  readonly quickCheck: QuickCheck;
  readonly repair: (value: unknown) => Normalised;
  /** The exact digits of numbers that a double cannot hold, where the schema takes them; the rest is reported. */
  readonly restore: (value: unknown, digits: string | undefined) => Normalised;
  /** Whether data is only checked and reported. */
  readonly keepsData: boolean;
  readonly isStrict?: boolean;
}

/** Makes the step of an operation. Throws when its schema cannot be used. */
export function outputStep(entry: OperationEntry, schema: TSchema, policy: OutputPolicy): OutputStep {
  const compiled = compileSchema(schema);
  if (compiled.isUnknown) return anything;
  const restore = (value: unknown, digits: string | undefined) => restoreDigits(schema, value, digits);
  if (policy === "strict") {
    const reader = createInstanceReader(schema);
    const repair = (value: unknown): Normalised => {
      const data = reader.readOutput(value);
      const { errors, total } = compiled.errors(data);
      if (total === 0) return { data };
      throw markPipelineError(entry.id, outputInvalid(entry.id, errors, total));
    };
    return { quickCheck: reader.quickCheck, repair, restore, keepsData: true, isStrict: true };
  }
  const normaliser = createNormaliser(schema);
  const repair = (value: unknown) => (policy === "check" ? normaliser.inspect(value) : normaliser.normalise(value));
  return { quickCheck: normaliser.quickCheck, repair, restore, keepsData: policy === "check" };
}

function finishEnvelope(
  entry: OperationEntry,
  repair: OutputStep["repair"],
  envelope: ResponseEnvelope,
): ResponseEnvelope {
  assertNoIterator(entry, envelope.data);
  const repaired = repair(envelope.data);
  if (repaired.drift !== undefined) return withDrift(entry, envelope, repaired);
  return repaired.data === envelope.data ? envelope : { data: repaired.data, meta: envelope.meta };
}

/** Finishes an envelope whose data holds numbers that lost digits when they were read. */
function finishInexact(
  entry: OperationEntry,
  { restore, keepsData, isStrict }: OutputStep,
  envelope: ResponseEnvelope,
  finish: (envelope: ResponseEnvelope) => ResponseEnvelope,
): ResponseEnvelope {
  const restored = restore(envelope.data, inexactNumbersIn(envelope)?.get("data"));
  const { drift, driftTotal } = restored;
  if (drift === undefined) return finish(envelope);
  if (isStrict) {
    // The data as it came is what counts: a number in the place of a string does not pass.
    const lost = drift.filter(({ kind }) => kind === "mismatch");
    const passed = finish(envelope);
    return lost.length === 0 ? passed : withDrift(entry, passed, { data: passed.data, drift: lost, driftTotal });
  }
  const finished = finish(withDrift(entry, envelope, restored));
  return keepsData ? { data: envelope.data, meta: finished.meta } : finished;
}

function isEmptyBody({ data, meta }: ResponseEnvelope): boolean {
  return meta.source === "http" && data === undefined;
}

/** Content blocks in the place of structured content stay as they came, and are reported when they do not fit. */
function reportStandIn(
  entry: OperationEntry,
  repair: OutputStep["repair"],
  envelope: ResponseEnvelope,
): ResponseEnvelope {
  const { drift = [] } = repair(envelope.data);
  if (drift.every(({ kind }) => kind === "stripped")) return envelope;
  const message = "content blocks in place of structured content";
  return withDrift(entry, envelope, { data: envelope.data, drift: [{ path: "", kind: "mismatch", message }] });
}

/** Never writes to the envelope that came: a handler may have frozen it, or keep it. */
function withDrift(
  entry: OperationEntry,
  { meta }: ResponseEnvelope,
  { data, drift = [], driftTotal }: Normalised,
): ResponseEnvelope {
  reportDrift(entry, drift);
  // A number that lost digits may not fit either; it is one difference.
  const isNew = (known: Drift) => !drift.some(({ path, kind }) => path === known.path && kind === known.kind);
  const earlier = meta.drift?.filter(isNew) ?? [];
  const all = earlier.length === 0 ? drift : [...earlier, ...drift].slice(0, 20);
  const total = (meta.driftTotal ?? earlier.length) + (driftTotal ?? drift.length);
  const noted = { ...meta, drift: all };
  if (total > all.length) noted.driftTotal = total;
  return { data, meta: noted };
}

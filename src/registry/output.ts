import type { TSchema } from "typebox";
import { setInspection } from "../internal/lookup.ts";
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
  findLostDigits,
  looksClassless,
  type Normalised,
  type QuickCheck,
} from "../schema/index.ts";
import { markPipelineError } from "./failures.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { reportDrift } from "./reports.ts";

/** The step of an operation whose schema accepts any data. */
export const anything: OutputStep = {
  quickCheck: { isValid: (value) => !isIterator(value), isUnchanged: undefined },
  repair: (data) => ({ data }),
};

/** Returns whether a value is an iterator, which only subscriptions may return. A stream of bytes is not an iterator here. */
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

/** Creates the function that wraps, checks and normalises results. The step for the schema is chosen once. */
export function createEnveloper(
  entry: OperationEntry,
  isTool: boolean,
  step: OutputStep,
): (value: unknown) => ResponseEnvelope {
  const { id } = entry;
  const { repair } = step;
  const { isValid, isUnchanged } = step.quickCheck;
  // The error of an MCP tool has no schema. Under `strict` only a handler that runs a tool can return such an error.
  const passesErrors = isTool || step.isStrict !== true;
  const isClean = (value: unknown) => {
    try {
      return looksClassless(value) && isValid(value) && (isUnchanged === undefined || isUnchanged(value));
    } catch {
      return false; // The data is nested too deeply, or a getter throws. `repair` reports which.
    }
  };
  const finish = (envelope: ResponseEnvelope): ResponseEnvelope => {
    const { data, meta } = envelope;
    const isExempt = meta.source === "mcp" ? meta.isError && passesErrors : isEmptyBody(envelope);
    if (isExempt) return envelope;
    if (isClean(data)) return finishForeign(entry, envelope);
    const isStandIn = meta.source === "mcp" && data === meta.content;
    const finishData = isStandIn ? reportContentBlocks : finishEnvelope;
    return finishForeign(entry, finishData(entry, repair, envelope));
  };
  return (value) => {
    try {
      if (isResponseEnvelope(value)) return finish(restoreData(value));
      if (isClean(value)) return localEnvelope(value, id);
      assertNoIterator(entry, value);
      const { data, drift, driftTotal } = repair(value);
      const envelope = localEnvelope(data, id);
      return drift === undefined ? envelope : withDrift(entry, envelope, { data, drift, driftTotal });
    } catch (error) {
      throw mapError(error); // Reading the data may throw.
    }
  };
}

/** How a policy handles data: `repair` is called for data that does not pass `quickCheck`. */
export interface OutputStep {
  /** Accepts data that is valid and needs no change. */
  readonly quickCheck: QuickCheck;
  readonly repair: (value: unknown) => Normalised;
  readonly isStrict?: boolean;
}

/** Creates the step of an operation. Throws when its schema is malformed. */
export function outputStep(entry: OperationEntry, schema: TSchema, policy: OutputPolicy): OutputStep {
  const compiled = compileSchema(schema);
  if (compiled.isUnknown) return anything;
  if (policy === "strict") {
    const reader = createInstanceReader(schema);
    const repair = (value: unknown): Normalised => {
      const data = reader.readOutput(value);
      const { errors, total } = compiled.errors(data);
      if (total === 0) return { data };
      throw markPipelineError(entry.id, outputInvalid(entry.id, errors, total));
    };
    return { quickCheck: reader.quickCheck, repair, isStrict: true };
  }
  const normaliser = createNormaliser(schema);
  const repair = (value: unknown) => (policy === "check" ? normaliser.inspect(value) : normaliser.normalise(value));
  return { quickCheck: normaliser.quickCheck, repair };
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

/** Reports unsafe integers, which lost digits when foreign JSON was parsed. Local data is not searched. */
function finishForeign(entry: OperationEntry, envelope: ResponseEnvelope): ResponseEnvelope {
  if (envelope.meta.source === "local") return envelope;
  const { data } = envelope;
  const lost = findLostDigits(data);
  return lost.drift === undefined ? envelope : withDrift(entry, envelope, { data, ...lost });
}

function isEmptyBody({ data, meta }: ResponseEnvelope): boolean {
  return meta.source === "http" && data === undefined;
}

/** Returns content blocks instead of structured content unchanged, and reports them when they do not match the schema. */
function reportContentBlocks(
  entry: OperationEntry,
  repair: OutputStep["repair"],
  envelope: ResponseEnvelope,
): ResponseEnvelope {
  const { drift = [] } = repair(envelope.data);
  if (drift.every(({ kind }) => kind === "stripped")) return envelope;
  const message = "content blocks in place of structured content";
  return withDrift(entry, envelope, { data: envelope.data, drift: [{ path: "", kind: "mismatch", message }] });
}

/** Returns a new envelope with the drift: the handler may have frozen the original, or may use it later. */
function withDrift(
  entry: OperationEntry,
  { meta }: ResponseEnvelope,
  { data, drift = [], driftTotal }: Normalised,
): ResponseEnvelope {
  reportDrift(entry, drift);
  // A number that lost digits may also be reported as a mismatch. Both are one difference.
  const isNew = (known: Drift) => !drift.some(({ path, kind }) => path === known.path && kind === known.kind);
  const earlier = meta.drift?.filter(isNew) ?? [];
  const all = earlier.length === 0 ? drift : [...earlier, ...drift].slice(0, 20);
  const total = (meta.driftTotal ?? earlier.length) + (driftTotal ?? drift.length);
  setInspection(all, (list, options, format) => format([...list], options)); // otherwise nested too deeply to be shown
  const noted = { ...meta, drift: all };
  if (total > all.length) noted.driftTotal = total;
  return { data, meta: noted };
}

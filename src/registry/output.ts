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
} from "../operation/inside.ts";
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

/** How data is handled: `repair` is called for data that does not pass the quick check. */
export interface OutputStep {
  readonly quickCheck: QuickCheck;
  readonly repair: (data: unknown) => Normalised;
  /** Whether the errors of MCP tools are checked like data. */
  readonly isStrict?: boolean;
}

/** The step of an operation whose schema accepts any data. */
export const uncheckedOutput: OutputStep = {
  quickCheck: { isValid: (value) => !isIterator(value), isUnchanged: undefined },
  repair: (data) => ({ data }),
};

/** Creates the step of an operation. Throws when its schema is malformed. */
export function createOutputStep(entry: OperationEntry, policy: OutputPolicy): OutputStep {
  const schema = entry.spec.outputSchema;
  const compiled = compileSchema(schema);
  if (compiled.isUnknown) return uncheckedOutput;
  if (policy !== "strict") {
    const normaliser = createNormaliser(schema);
    const repair = (data: unknown) => (policy === "check" ? normaliser.inspect(data) : normaliser.normalise(data));
    return { quickCheck: normaliser.quickCheck, repair };
  }
  const reader = createInstanceReader(schema);
  const repair = (given: unknown): Normalised => {
    const data = reader.readOutput(given);
    const { errors, total } = compiled.errors(data);
    if (total === 0) return { data };
    throw markPipelineError(entry.id, outputInvalid(entry.id, errors, total));
  };
  return { quickCheck: reader.quickCheck, repair, isStrict: true };
}

/**
 * Creates the function that wraps results in an envelope, then checks and normalises their data. `isTool` is true for a
 * handler that runs a tool of an MCP server.
 */
export function createWrapper(
  entry: OperationEntry,
  { quickCheck, repair, isStrict = false }: OutputStep,
  isTool: boolean,
): (value: unknown) => ResponseEnvelope {
  const { id } = entry;
  const { isValid, isUnchanged } = quickCheck;
  const isClean = (data: unknown) => {
    try {
      return looksClassless(data) && isValid(data) && (isUnchanged === undefined || isUnchanged(data));
    } catch {
      return false; // The data is nested too deeply, or a getter throws. `repair` reports which.
    }
  };
  /** Returns whether data has no schema: the error of an MCP tool, and the missing body of an HTTP response. */
  const isExempt = ({ data, meta }: ResponseEnvelope) =>
    meta.source === "mcp" ? meta.isError && (isTool || !isStrict) : meta.source === "http" && data === undefined;
  const finish = (envelope: ResponseEnvelope) => {
    const { data, meta } = envelope;
    assertNoIterator(entry, data);
    const repaired = repair(data);
    // Content blocks that stand in for structured content are returned unchanged, and reported.
    const isStandIn = meta.source === "mcp" && data === meta.content;
    return withDrift(entry, envelope, isStandIn ? reportBlocks(data, repaired) : repaired);
  };
  return (value) => {
    try {
      if (!isResponseEnvelope(value)) {
        const envelope = localEnvelope(value, id);
        return isClean(value) ? envelope : finish(envelope);
      }
      const envelope = restoreData(value);
      if (isExempt(envelope)) return envelope;
      const finished = isClean(envelope.data) ? envelope : finish(envelope);
      return envelope.meta.source === "local" ? finished : reportLostDigits(entry, finished);
    } catch (error) {
      throw mapError(error); // Reading the data may throw.
    }
  };
}

/** Reports integers beyond 2^53, which lost digits when foreign JSON was parsed. Local data is not searched. */
function reportLostDigits(entry: OperationEntry, envelope: ResponseEnvelope): ResponseEnvelope {
  const { data } = envelope;
  return withDrift(entry, envelope, { data, ...findLostDigits(data) });
}

function reportBlocks(data: unknown, { drift = [] }: Normalised): Normalised {
  if (drift.every(({ kind }) => kind === "stripped")) return { data };
  return { data, drift: [{ path: "", kind: "mismatch", message: "content blocks in place of structured content" }] };
}

/** Returns a new envelope with the drift: the handler may have frozen the original, or may use it later. */
function withDrift(
  entry: OperationEntry,
  envelope: ResponseEnvelope,
  { data, drift = [], driftTotal }: Normalised,
): ResponseEnvelope {
  const { meta } = envelope;
  if (drift.length === 0) return data === envelope.data ? envelope : { data, meta };
  reportDrift(entry, drift);
  // A number that lost digits may also be reported as a mismatch. Both are one difference.
  const isNew = (known: Drift) => !drift.some(({ path, kind }) => path === known.path && kind === known.kind);
  const earlier = meta.drift?.filter(isNew) ?? [];
  const all: Drift[] = earlier.length === 0 ? drift : [...earlier, ...drift].slice(0, 20);
  const total = (meta.driftTotal ?? earlier.length) + (driftTotal ?? drift.length);
  setInspection(all, (list, options, format) => format([...list], options)); // otherwise nested too deeply to be shown
  const noted = { ...meta, drift: all };
  if (total > all.length) noted.driftTotal = total;
  return { data, meta: noted };
}

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

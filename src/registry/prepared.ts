import type { TSchema } from "typebox";
import {
  CallError,
  isCallError,
  isResponseEnvelope,
  isToolHandler,
  localEnvelope,
  mapError,
  nestedFailure,
  type OperationHandler,
  type OutputPolicy,
  outputInvalid,
  type ResponseEnvelope,
  restoreData,
  type SubscriptionHandler,
  validationError,
} from "../operation/index.ts";
import {
  type CompiledSchema,
  compileSchema,
  createDefaultFiller,
  createNormaliser,
  createPlainForm,
  isPlainAtRoot,
  type Normalised,
  type PlainForm,
  type StandardValidate,
} from "../schema/index.ts";
import type { Entry } from "./entry.ts";
import { passedOnOf } from "./passed-on.ts";
import { reportDrift, reportUndeclaredDetails } from "./reports.ts";

/** Errors that the pipeline itself raised, and for which operation. */
const raised = new WeakMap<CallError, string>();

/** Errors of handlers that say they had no effect, and of which operation. */
const unrun = new WeakMap<CallError, string>();

/** Notes that the pipeline, not a handler, made this error. */
export function raise(operationId: string, error: CallError): CallError {
  raised.set(error, operationId);
  return error;
}

/** What a caller gets when something that it handed in threw as it was read. Errors of the pipeline stay themselves. */
export function notStarted(operationId: string, cause: unknown): CallError {
  if (isCallError(cause)) return cause;
  const { code, message } = mapError(cause);
  return raise(operationId, new CallError(code, message, undefined, { cause, mayHaveRun: false }));
}

const always = () => true;
const anything: OutputStep = { fits: always, isTidy: (value) => !isIterator(value), repair: (data) => ({ data }) };

/** Whether a value yields values later, as only subscriptions do. A stream of bytes is a value. */
function isIterator(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.asyncIterator]: iterate, next } = value as { [Symbol.asyncIterator]?: unknown; next?: unknown };
  if (iterate === undefined && typeof next !== "function") return false;
  const { pipe, getReader, [Symbol.iterator]: iterateNow } = value as Record<PropertyKey, unknown>;
  if (typeof pipe === "function" || typeof getReader === "function") return false;
  return typeof iterate === "function" || typeof iterateNow === "function";
}

function assertNoIterator({ id, isSubscription }: Entry, value: unknown): void {
  if (!isIterator(value)) return;
  const advice = isSubscription ? "Yield its values" : 'Set its type to "subscription", or return the values in a list';
  const message = `The handler of "${id}" returned an iterator, which is not data. ${advice}.`;
  throw new CallError("EXECUTION_ERROR", message);
}

/** The steps of one operation that depend on its schemas: made on the first call, kept as long as the operation. */
export class Prepared {
  readonly entry: Entry;
  readonly handler: OperationHandler | SubscriptionHandler;
  /** Whether input can be accepted in one synchronous step. */
  readonly isPlain: boolean;
  /** Whether another registry validates the input, so that it is only looked at here by what reads it. */
  readonly isPassedOn: boolean;
  #input: InputStep | undefined;
  readonly validate: StandardValidate | undefined;
  /** Turns what the handler gave into the envelope of the call. Throws `OUTPUT_INVALID` under `strict`. */
  readonly toEnvelope: (value: unknown) => ResponseEnvelope;
  /** The same for what middleware gave, which may be anything. */
  readonly toCheckedEnvelope: (value: unknown) => ResponseEnvelope;
  /** Throws what a handler threw as the `CallError` that the caller gets. */
  readonly fail: (error: unknown) => never;

  constructor(entry: Entry, handler: OperationHandler | SubscriptionHandler, policy: OutputPolicy) {
    this.entry = entry;
    this.handler = handler;
    const passedOn = passedOnOf(handler);
    const isPassedOn = passedOn !== undefined;
    this.isPassedOn = isPassedOn;
    this.#input = isPassedOn ? undefined : inputStep(entry, entry.fillsDefaults);
    this.validate = entry.validate;
    this.isPlain = this.validate === undefined && !entry.demandsResource;
    this.toCheckedEnvelope = createEnveloper(
      entry,
      isToolHandler(handler),
      isPassedOn ? anything : use(entry, "outputSchema", (schema) => outputStep(entry, schema, policy)),
    );
    this.toEnvelope = passedOn?.returnsEnvelopes ? asItIs : this.toCheckedEnvelope;
    this.fail = (error) => {
      const failure = toFailure(entry, error);
      throw isPassedOn ? raise(entry.id, failure) : failure;
    };
  }

  /** Checks input that can be checked in one step, and gives it with its defaults. */
  accept(value: unknown): unknown {
    // Where the input is passed on, the filled copy is only looked at, whatever the other registry fills.
    this.#input ??= inputStep(this.entry, true);
    const { fits, fill, plain, isPlainInside } = this.#input;
    const input = fill === undefined ? value : fill(value);
    try {
      const isPlain = isPlainAtRoot(input) && (isPlainInside === undefined || isPlainInside(input));
      if (isPlain && fits(input)) return input;
    } catch {
      // Nested too deeply, or it throws when it is read: looking closer tells which.
    }
    return this.#acceptSlowly(this.#input, plain.readInput(value));
  }

  #acceptSlowly({ compiled, fill }: InputStep, value: unknown): unknown {
    const input = fill === undefined ? value : fill(value);
    const { errors, total } = compiled.errors(input);
    if (total === 0) return input;
    // No input at all: an operation that takes an object and needs nothing of it gets an empty one.
    const empty = value === undefined ? (fill?.({}) ?? {}) : undefined;
    if (empty !== undefined && compiled.check(empty)) return empty;
    throw raise(this.entry.id, validationError(inputLabel(this.entry), errors, total));
  }

  /** Checks input of every kind. */
  async acceptFully(value: unknown): Promise<unknown> {
    const input = this.accept(value);
    if (this.validate === undefined) return input;
    const result = await this.validate(input);
    if (result.issues === undefined) return result.value;
    const errors = result.issues.slice(0, 20).map((issue) => ({ path: toPointer(issue.path), message: issue.message }));
    throw raise(this.entry.id, validationError(inputLabel(this.entry), errors, result.issues.length));
  }
}

/** Makes something of a schema, which may turn out to be malformed only now. */
function use<T>({ id, spec }: Entry, which: "inputSchema" | "outputSchema", make: (schema: TSchema) => T): T {
  try {
    return make(spec[which]);
  } catch (cause) {
    const message = `"${id}" cannot be called: its ${which} cannot be used. ${mapError(cause).message}`;
    throw raise(id, new CallError("EXECUTION_ERROR", message, undefined, { cause, mayHaveRun: false }));
  }
}

/** What is done with input. */
interface InputStep {
  readonly compiled: CompiledSchema;
  readonly fits: (value: unknown) => boolean;
  readonly fill: ((value: unknown) => unknown) | undefined;
  readonly plain: PlainForm;
  readonly isPlainInside: PlainForm["isPlainInside"];
}

function inputStep(entry: Entry, fillsDefaults: boolean): InputStep {
  const compiled = compileSchema(use(entry, "inputSchema", (schema) => schema));
  const plain = use(entry, "inputSchema", createPlainForm);
  return {
    compiled,
    plain,
    isPlainInside: plain.isPlainInside,
    fits: use(entry, "inputSchema", () => compiled.unguarded),
    fill: fillsDefaults ? use(entry, "inputSchema", createDefaultFiller) : undefined,
  };
}

function asItIs(value: unknown): ResponseEnvelope {
  return value as ResponseEnvelope;
}

function inputLabel(entry: Entry): string {
  return `input of "${entry.id}"`;
}

type IssuePath = ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined;

function toPointer(path: IssuePath): string {
  const parts = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Wrap, check and normalise in one function, with the schema's part chosen once. */
function createEnveloper(entry: Entry, isTool: boolean, step: OutputStep): (value: unknown) => ResponseEnvelope {
  const { id } = entry;
  const { fits, isTidy, repair } = step;
  // An error that a tool reports has no schema. Under `strict` only the result of a tool counts as one.
  const passesErrors = isTool || step.isStrict !== true;
  const isClean = (value: unknown) => {
    try {
      return isPlainAtRoot(value) && fits(value) && isTidy(value);
    } catch {
      return false; // nested too deeply, or it throws when it is read: looking closer tells which
    }
  };
  return (value) => {
    try {
      if (isResponseEnvelope(value)) {
        const envelope = restoreData(value);
        const { data, meta } = envelope;
        const isExempt = meta.source === "mcp" ? meta.isError && passesErrors : isEmptyBody(envelope);
        if (isExempt || isClean(data)) return envelope;
        const isStandIn = meta.source === "mcp" && data === meta.content;
        return isStandIn ? reportStandIn(entry, repair, envelope) : finishEnvelope(entry, repair, envelope);
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

/** What a policy does with data: `repair` is asked for what does not fit, or fits and is not tidy. */
interface OutputStep {
  readonly fits: (value: unknown) => boolean;
  readonly isTidy: (value: unknown) => boolean;
  readonly repair: (value: unknown) => Normalised;
  readonly isStrict?: boolean;
}

function outputStep(entry: Entry, schema: TSchema, policy: OutputPolicy): OutputStep {
  const compiled = compileSchema(schema);
  if (compiled.isUnknown) return anything;
  if (policy === "strict") {
    const plain = createPlainForm(schema);
    const repair = (value: unknown): Normalised => {
      const data = plain.readOutput(value);
      const { errors, total } = compiled.errors(data);
      if (total === 0) return { data };
      throw raise(entry.id, outputInvalid(entry.id, errors, total));
    };
    return { fits: (value) => compiled.check(value), isTidy: plain.isPlainInside ?? always, repair, isStrict: true };
  }
  const normaliser = createNormaliser(schema);
  const repair = (value: unknown) => (policy === "check" ? normaliser.inspect(value) : normaliser.normalise(value));
  return { ...normaliser.unguarded, repair };
}

function finishEnvelope(entry: Entry, repair: OutputStep["repair"], envelope: ResponseEnvelope): ResponseEnvelope {
  assertNoIterator(entry, envelope.data);
  const repaired = repair(envelope.data);
  if (repaired.drift !== undefined) return withDrift(entry, envelope, repaired);
  return repaired.data === envelope.data ? envelope : { data: repaired.data, meta: envelope.meta };
}

function isEmptyBody({ data, meta }: ResponseEnvelope): boolean {
  return meta.source === "http" && data === undefined;
}

/** Content blocks in the place of structured content stay as they came, and are reported when they do not fit. */
function reportStandIn(entry: Entry, repair: OutputStep["repair"], envelope: ResponseEnvelope): ResponseEnvelope {
  const { drift = [] } = repair(envelope.data);
  if (drift.every(({ kind }) => kind === "stripped")) return envelope;
  const message = "content blocks in place of structured content";
  return withDrift(entry, envelope, { data: envelope.data, drift: [{ path: "", kind: "mismatch", message }] });
}

/** Never writes to the envelope that came: a handler may have frozen it, or keep it. */
function withDrift(
  entry: Entry,
  { meta }: ResponseEnvelope,
  { data, drift = [], driftTotal }: Normalised,
): ResponseEnvelope {
  reportDrift(entry.id, drift);
  const earlier = meta.drift ?? [];
  const all = earlier.length === 0 ? drift : [...earlier, ...drift].slice(0, 20);
  const total = (meta.driftTotal ?? earlier.length) + (driftTotal ?? drift.length);
  const noted = { ...meta, drift: all };
  if (total > all.length) noted.driftTotal = total;
  return { data, meta: noted };
}

function toFailure(entry: Entry, error: unknown): CallError {
  if (!isCallError(error)) return mapError(error);
  const nestedId = raised.get(error);
  if (nestedId !== undefined) return asRun(nestedFailure(nestedId, error));
  reportUndeclaredDetails(entry, error);
  if (error.mayHaveRun !== false) return error;
  const claimedBy = unrun.get(error);
  if (claimedBy !== undefined && claimedBy !== entry.id) return asRun(error);
  unrun.set(error, entry.id);
  return error;
}

/** A nested call that never ran says nothing of the handler around it, which did. */
function asRun(error: CallError): CallError {
  if (error.mayHaveRun !== false) return error;
  const { code, message, details, retryable } = error;
  return new CallError(code, message, details, { cause: error, retryable });
}

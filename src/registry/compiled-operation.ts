import type { TSchema } from "typebox";
import {
  CallError,
  isToolHandler,
  mapError,
  type OperationHandler,
  type OutputPolicy,
  type ResponseEnvelope,
  type SubscriptionHandler,
  validationError,
} from "../operation/index.ts";
import {
  type CompiledSchema,
  compileSchema,
  createDefaultFiller,
  createInstanceReader,
  type InstanceReader,
  looksClassless,
  type QuickCheck,
  type StandardValidate,
} from "../schema/index.ts";
import { markPipelineError, toFailure } from "./failures.ts";
import { forwardingOf, type OperationEntry } from "./operation-entry.ts";
import { anything, createEnveloper, outputStep } from "./output.ts";
import type { Middleware } from "./types.ts";

/** What calls of one operation need of its schemas and handler: made on the first call, kept as long as the operation. */
export class CompiledOperation {
  readonly entry: OperationEntry;
  readonly handler: OperationHandler | SubscriptionHandler;
  /** Whether the resource step has anything to check. */
  readonly demandsResource: boolean;
  /** Whether the handler forwards calls to another registry, which validates the input. */
  readonly isForwarding: boolean;
  /** What wraps the handler, outermost first. Chosen when the operation is compiled and when middleware changes. */
  middleware: readonly Middleware[] = [];
  /** Absent for a forwarding handler until input has to be validated here. */
  private input: InputStep | undefined;
  /** Of a Standard Schema: what turns the validated input into what the handler receives. */
  readonly standardValidate: StandardValidate | undefined;
  /** Wraps, checks and normalises what the handler returned. Throws `OUTPUT_INVALID` under `strict`. */
  readonly wrapResult: (value: unknown) => ResponseEnvelope;
  /** The same for what middleware returned, which may be anything. */
  readonly wrapMiddlewareResult: (value: unknown) => ResponseEnvelope;
  /** Throws what a handler threw as the `CallError` that its caller receives. */
  readonly throwFailure: (error: unknown) => never;

  constructor(entry: OperationEntry, handler: OperationHandler | SubscriptionHandler, policy: OutputPolicy) {
    this.entry = entry;
    this.handler = handler;
    this.demandsResource = entry.demandsResource;
    const forwarding = forwardingOf(handler);
    const isForwarding = forwarding !== undefined;
    this.isForwarding = isForwarding;
    this.input = isForwarding ? undefined : inputStep(entry, entry.fillsDefaults);
    this.standardValidate = entry.validate;
    this.wrapMiddlewareResult = createEnveloper(
      entry,
      isToolHandler(handler),
      isForwarding ? anything : use(entry, "outputSchema", (schema) => outputStep(entry, schema, policy)),
    );
    this.wrapResult = forwarding?.returnsEnvelopes ? asEnvelope : this.wrapMiddlewareResult;
    this.throwFailure = (error) => {
      const failure = toFailure(entry, error);
      throw isForwarding ? markPipelineError(entry.id, failure) : failure;
    };
  }

  /** Validates input by the schema, without `standardValidate`. Returns it with its defaults; throws a `CallError`. */
  validateSync(value: unknown): unknown {
    // Where the call is forwarded, the filled copy is only read here, whatever the other registry fills.
    const { isValid, isUnchanged, fill } = this.input ?? this.openInput();
    const input = fill === undefined ? value : fill(value);
    try {
      const isAccepted = looksClassless(input) && isValid(input) && (isUnchanged === undefined || isUnchanged(input));
      if (isAccepted) return input;
    } catch {
      // Nested too deeply, or a getter throws: the slow path finds out which.
    }
    return this.validateSlowly(value);
  }

  private openInput(): InputStep {
    this.input ??= inputStep(this.entry, true);
    return this.input;
  }

  private validateSlowly(given: unknown): unknown {
    const { compiled, fill, reader } = this.openInput();
    const value = reader.readInput(given);
    const input = fill === undefined ? value : fill(value);
    const { errors, total } = compiled.errors(input);
    if (total === 0) return input;
    // Without input, an operation that takes an object and requires no property receives an empty one.
    const empty = value === undefined ? (fill?.({}) ?? {}) : undefined;
    if (empty !== undefined && compiled.check(empty)) return empty;
    throw markPipelineError(this.entry.id, validationError(inputLabel(this.entry), errors, total));
  }

  /** Validates input by the schema and by `standardValidate`. Rejects with a `CallError`, or with what that threw. */
  async validate(value: unknown): Promise<unknown> {
    const input = this.validateSync(value);
    if (this.standardValidate === undefined) return input;
    const result = await this.standardValidate(input);
    if (result.issues === undefined) return result.value;
    const errors = result.issues.slice(0, 20).map((issue) => ({ path: toPointer(issue.path), message: issue.message }));
    throw markPipelineError(this.entry.id, validationError(inputLabel(this.entry), errors, result.issues.length));
  }
}

/** Uses a schema, which may turn out to be malformed only now. */
function use<T>({ id, spec }: OperationEntry, which: "inputSchema" | "outputSchema", make: (schema: TSchema) => T): T {
  try {
    return make(spec[which]);
  } catch (cause) {
    const message = `"${id}" cannot be called: its ${which} cannot be used. ${mapError(cause).message}`;
    throw markPipelineError(id, new CallError("EXECUTION_ERROR", message, undefined, { cause, mayHaveRun: false }));
  }
}

/** What validates the input of one operation. */
interface InputStep extends QuickCheck {
  readonly compiled: CompiledSchema;
  readonly fill: ((value: unknown) => unknown) | undefined;
  readonly reader: InstanceReader;
}

function inputStep(entry: OperationEntry, fillsDefaults: boolean): InputStep {
  const compiled = compileSchema(use(entry, "inputSchema", (schema) => schema));
  const reader = use(entry, "inputSchema", createInstanceReader);
  const { isValid, isUnchanged } = use(entry, "inputSchema", () => reader.quickCheck);
  return {
    compiled,
    reader,
    isValid,
    isUnchanged,
    fill: fillsDefaults ? use(entry, "inputSchema", createDefaultFiller) : undefined,
  };
}

function asEnvelope(value: unknown): ResponseEnvelope {
  return value as ResponseEnvelope;
}

function inputLabel(entry: OperationEntry): string {
  return `input of "${entry.id}"`;
}

type IssuePath = ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined;

function toPointer(path: IssuePath): string {
  const parts = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

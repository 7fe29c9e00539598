import type { TSchema } from "typebox";
import { extendPointer } from "../internal/json-pointer.ts";
import {
  CallError,
  isToolHandler,
  mapError,
  type OperationHandler,
  type OutputPolicy,
  type ResponseEnvelope,
  type SubscriptionHandler,
  validationError,
} from "../operation/inside.ts";
import {
  type CompiledSchema,
  compileSchema,
  createDefaultFiller,
  createInstanceReader,
  type InstanceReader,
  looksClassless,
  type QuickCheck,
} from "../schema/index.ts";
import { markPipelineError, toFailure } from "./failures.ts";
import { forwardingOf, type OperationEntry } from "./operation-entry.ts";
import { createOutputStep, createWrapper, uncheckedOutput } from "./output.ts";
import type { Middleware } from "./types.ts";

/** The compiled schemas and handler of one operation. Created on the first call and kept as long as the operation. */
export class CompiledOperation {
  readonly entry: OperationEntry;
  readonly handler: OperationHandler | SubscriptionHandler;
  /** Whether the operation has a resource rule or a `customAuth`. */
  readonly demandsResource: boolean;
  /** Whether the handler forwards calls to another registry, which validates the input. */
  readonly isForwarding: boolean;
  /** Middleware around the handler, outermost first. Selected again when middleware is added or removed. */
  middleware!: readonly Middleware[];
  /** Whether a step before or after the handler may have to wait. */
  hasAsyncStep = false;
  /** Wraps, checks and normalises the result of the handler. Throws `OUTPUT_INVALID` under `strict`. */
  readonly wrap: (value: unknown) => ResponseEnvelope;
  /** Does the same for the result of middleware, which may be any value. */
  readonly wrapAny: (value: unknown) => ResponseEnvelope;
  /** Absent for a forwarding handler until its input is validated here. */
  #input: InputStep | undefined;

  constructor(entry: OperationEntry, handler: OperationHandler | SubscriptionHandler, policy: OutputPolicy) {
    const forwarding = forwardingOf(handler);
    this.entry = entry;
    this.handler = handler;
    this.demandsResource = entry.demandsResource;
    this.isForwarding = forwarding !== undefined;
    this.#input = this.isForwarding ? undefined : createInputStep(entry, entry.fillsDefaults);
    const step = this.isForwarding
      ? uncheckedOutput
      : readSchema(entry, "outputSchema", () => createOutputStep(entry, policy));
    this.wrapAny = createWrapper(entry, step, isToolHandler(handler));
    this.wrap = forwarding?.returnsEnvelopes ? (value) => value as ResponseEnvelope : this.wrapAny;
  }

  setMiddleware(middleware: readonly Middleware[]): void {
    this.middleware = middleware;
    this.hasAsyncStep = middleware.length > 0 || this.entry.validate !== undefined;
  }

  /** Converts an error of the handler to the `CallError` that its caller receives. */
  toFailure(error: unknown): CallError {
    const failure = toFailure(this.entry, error);
    return this.isForwarding ? markPipelineError(this.entry.id, failure) : failure;
  }

  /** Validates input by the schema. Returns the input with defaults; throws a `CallError`. */
  validate(value: unknown): unknown {
    // For a forwarded call, the filled copy is only read here; the other registry fills defaults itself.
    this.#input ??= createInputStep(this.entry, true);
    const { isValid, isUnchanged, fill } = this.#input;
    const input = fill === undefined ? value : fill(value);
    try {
      const isAccepted = looksClassless(input) && isValid(input) && (isUnchanged === undefined || isUnchanged(input));
      if (isAccepted) return input;
    } catch {
      // The value is nested too deeply, or a getter throws. The slow path reports which.
    }
    return this.#validateSlowly(this.#input, value);
  }

  /** Validates input by the schema, and by the Standard Schema it came from, which may convert it. Rejects if it is invalid. */
  async validateFully(value: unknown): Promise<unknown> {
    const { id, validate } = this.entry;
    const input = this.validate(value);
    if (validate === undefined) return input;
    const result = await validate(input);
    if (result.issues === undefined) return result.value;
    const errors = result.issues.slice(0, 20).map(({ path = [], message }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
      return { path: extendPointer("", ...keys), message };
    });
    throw validationError(`input of "${id}"`, errors, result.issues.length);
  }

  #validateSlowly({ compiled, fill, reader }: InputStep, given: unknown): unknown {
    const { id } = this.entry;
    const value = reader.readInput(given);
    const input = fill === undefined ? value : fill(value);
    if (value === undefined && compiled.check(input)) return input;
    // Without input, an operation receives an empty object. Its errors name the missing properties.
    const checked = value === undefined ? (fill?.({}) ?? {}) : input;
    const { errors, total } = compiled.errors(checked);
    if (total === 0) return checked;
    throw validationError(`input of "${id}"`, errors, total);
  }
}

/** Validates the input of one operation. */
interface InputStep extends QuickCheck {
  readonly compiled: CompiledSchema;
  readonly fill: ((value: unknown) => unknown) | undefined;
  readonly reader: InstanceReader;
}

function createInputStep(entry: OperationEntry, fillsDefaults: boolean): InputStep {
  return readSchema(entry, "inputSchema", (schema) => {
    const reader = createInstanceReader(schema);
    const { isValid, isUnchanged } = reader.quickCheck;
    const fill = fillsDefaults ? createDefaultFiller(schema) : undefined;
    return { compiled: compileSchema(schema), reader, isValid, isUnchanged, fill };
  });
}

/** Reads a schema. Throws a `CallError` if it is malformed, which may be detected only now. */
function readSchema<T>(
  { id, spec }: OperationEntry,
  which: "inputSchema" | "outputSchema",
  read: (schema: TSchema) => T,
): T {
  try {
    return read(spec[which]);
  } catch (cause) {
    const message = `"${id}" cannot be called: its ${which} cannot be used. ${mapError(cause).message}`;
    throw new CallError("EXECUTION_ERROR", message, undefined, { cause, mayHaveRun: false });
  }
}

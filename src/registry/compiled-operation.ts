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

/** The compiled schemas and handler of one operation. Created on the first call and kept as long as the operation. */
export class CompiledOperation {
  readonly entry: OperationEntry;
  readonly handler: OperationHandler | SubscriptionHandler;
  /** Whether the operation has a resource rule or a `customAuth`. */
  readonly demandsResource: boolean;
  /** Whether the handler forwards calls to another registry, which validates the input. */
  readonly isForwarding: boolean;
  /** Middleware around the handler, outermost first. Selected when the operation is compiled and when middleware changes. */
  middleware: readonly Middleware[] = [];
  /** Absent for a forwarding handler until its input is validated here. */
  private input: InputStep | undefined;
  /** For a Standard Schema: converts the validated input to the input of the handler. */
  readonly standardValidate: StandardValidate | undefined;
  /** Wraps, checks and normalises the result of the handler. Throws `OUTPUT_INVALID` under `strict`. */
  readonly wrapResult: (value: unknown) => ResponseEnvelope;
  /** Wraps, checks and normalises the result of middleware, which may be any value. */
  readonly wrapMiddlewareResult: (value: unknown) => ResponseEnvelope;
  /** Converts an error of the handler to the `CallError` that its caller receives, and throws it. */
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

  /** Validates input by the schema, without `standardValidate`. Returns the input with defaults; throws a `CallError`. */
  validateSync(value: unknown): unknown {
    // For a forwarded call, the filled copy is only read here; the other registry fills defaults itself.
    const { isValid, isUnchanged, fill } = this.input ?? this.openInput();
    const input = fill === undefined ? value : fill(value);
    try {
      const isAccepted = looksClassless(input) && isValid(input) && (isUnchanged === undefined || isUnchanged(input));
      if (isAccepted) return input;
    } catch {
      // The value is nested too deeply, or a getter throws. The slow path reports which.
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
    if (value === undefined && compiled.check(input)) return input;
    // Without input, an operation receives an empty object. Its errors name the missing properties.
    const checked = value === undefined ? (fill?.({}) ?? {}) : input;
    const { errors, total } = compiled.errors(checked);
    if (total === 0) return checked;
    throw markPipelineError(this.entry.id, validationError(inputLabel(this.entry), errors, total));
  }

  /** Validates input by the schema and by `standardValidate`. Rejects with a `CallError` or the error of `standardValidate`. */
  async validate(value: unknown): Promise<unknown> {
    const input = this.validateSync(value);
    if (this.standardValidate === undefined) return input;
    const result = await this.standardValidate(input);
    if (result.issues === undefined) return result.value;
    const errors = result.issues.slice(0, 20).map((issue) => ({ path: toPointer(issue.path), message: issue.message }));
    throw markPipelineError(this.entry.id, validationError(inputLabel(this.entry), errors, result.issues.length));
  }
}

/** Reads a schema. Throws a `CallError` if it is malformed, which may be detected only now. */
function use<T>({ id, spec }: OperationEntry, which: "inputSchema" | "outputSchema", make: (schema: TSchema) => T): T {
  try {
    return make(spec[which]);
  } catch (cause) {
    const message = `"${id}" cannot be called: its ${which} cannot be used. ${mapError(cause).message}`;
    throw markPipelineError(id, new CallError("EXECUTION_ERROR", message, undefined, { cause, mayHaveRun: false }));
  }
}

/** Validates the input of one operation. */
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

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
  type StandardValidate,
} from "../schema/index.ts";
import type { Entry } from "./entry.ts";
import { raise, toFailure } from "./failures.ts";
import { anything, createEnveloper, outputStep } from "./output.ts";
import { passedOnOf } from "./passed-on.ts";
import type { Middleware } from "./types.ts";

/** The steps of one operation that depend on its schemas: made on the first call, kept as long as the operation. */
export class Prepared {
  readonly entry: Entry;
  readonly handler: OperationHandler | SubscriptionHandler;
  /** Whether input can be accepted in one synchronous step. */
  readonly isPlain: boolean;
  /** Whether another registry validates the input, so that it is only looked at here by what reads it. */
  readonly isPassedOn: boolean;
  /** What wraps the handler, outermost first. Chosen when the operation is compiled and when middleware changes. */
  middleware: readonly Middleware[] = [];
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
    const { quickCheck, fill, reader } = this.#input;
    const input = fill === undefined ? value : fill(value);
    try {
      if (quickCheck(input)) return input;
    } catch {
      // Nested too deeply, or it throws when it is read: looking closer tells which.
    }
    return this.#acceptSlowly(this.#input, reader.readInput(value));
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
  readonly quickCheck: InstanceReader["quickCheck"];
  readonly fill: ((value: unknown) => unknown) | undefined;
  readonly reader: InstanceReader;
}

function inputStep(entry: Entry, fillsDefaults: boolean): InputStep {
  const compiled = compileSchema(use(entry, "inputSchema", (schema) => schema));
  const reader = use(entry, "inputSchema", createInstanceReader);
  return {
    compiled,
    reader,
    quickCheck: use(entry, "inputSchema", () => reader.quickCheck),
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

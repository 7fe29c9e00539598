import type { IOperationDefinition, OperationContext, ResponseEnvelope, TSchema } from "@alkdev/operations";
import type { Random } from "../chaos/random.ts";
import { type Form, forms, toForm } from "./forms.ts";
import { toJSONText } from "./json-text.ts";
import type { Library } from "./library.ts";
import { anySchema, anyValue, distort, exoticValue, objectSchema, type Schema, valueFor } from "./schemas.ts";

/** What a generated handler does, as data. */
export type Action =
  | { do: "return"; value: unknown; as: "value" | "promise" | "local" | "http" | "mcp" | "mcp error" }
  | { do: "echo" }
  | { do: "throw"; what: Failure; late: boolean };

/** What a handler throws, as data. */
export type Failure =
  | { throws: "declared"; code: string; details: unknown; message?: string }
  | { throws: "CallError"; code: string; message: string; details?: unknown; retryable?: boolean; mayHaveRun?: boolean }
  | { throws: "Error"; name: string; message: string; cause?: string }
  | { throws: "value"; value: unknown };

/** An operation as data. */
export interface Operation {
  namespace: string;
  name: string;
  type: "query" | "mutation" | "subscription";
  inputSchema: Schema;
  outputSchema: Schema;
  form: Form;
  errors?: Record<string, Schema>;
  more?: Record<string, unknown>;
  action: Action;
  /** For subscriptions: values before the action. */
  yields?: unknown[];
}

export const namespaces = ["task", "file", "shop"] as const;
const names = ["create", "list", "get", "remove", "rename", "watch", "a/b", "with space", "ünï", "getById"];

/** Generates an operation that returns, echoes or throws. */
export function anyOperation(random: Random, part: Partial<Operation> = {}): Operation {
  const outputSchema = part.outputSchema ?? anySchema(random, 2);
  const type = part.type ?? random.pick(["query", "query", "mutation", "subscription"] as const);
  const operation: Operation = {
    namespace: random.pick(namespaces),
    name: random.pick(names),
    type,
    inputSchema: random.chance(0.9) ? objectSchema(random, 2) : anySchema(random, 2),
    outputSchema,
    form: random.pick(forms),
    action: anyAction(random, outputSchema),
    more: anyAnnotations(random),
    ...part,
  };
  if (random.chance(0.25)) operation.errors = { TAKEN: objectSchema(random, 1), GONE: { type: "object" } };
  if (type === "subscription") {
    operation.yields = Array.from({ length: random.integer(0, 4) }, () => anyResult(random, outputSchema));
  }
  return operation;
}

/** Generates several operations with different ids. */
export function anyOperations(random: Random, count: number, part: Partial<Operation> = {}): Operation[] {
  const operations = Array.from({ length: count }, () => anyOperation(random, part));
  const byId = new Map(operations.map((operation) => [idOf(operation), operation]));
  return [...byId.values()];
}

export function idOf({ namespace, name }: Pick<Operation, "namespace" | "name">): string {
  return `${namespace}.${name}`;
}

/** Generates an input that is often valid. */
export function anyInput(random: Random, schema: Schema): unknown {
  const valid = valueFor(random, schema);
  if (random.chance(0.6)) return valid;
  return random.chance(0.9) ? distort(random, valid) : random.chance(0.5) ? anyValue(random) : exoticValue(random);
}

/** Generates data that a handler returns, which often has drift. */
export function anyResult(random: Random, schema: Schema): unknown {
  const valid = valueFor(random, schema);
  if (random.chance(0.35)) return valid;
  return random.chance(0.85) ? distort(random, valid) : random.chance(0.5) ? anyValue(random) : exoticValue(random);
}

const wrappers = ["value", "value", "value", "promise", "promise", "local", "http", "mcp", "mcp error"] as const;

export function anyAction(random: Random, outputSchema: Schema): Action {
  if (random.chance(0.15)) return { do: "echo" };
  if (random.chance(0.2)) return { do: "throw", what: anyFailure(random), late: random.chance(0.5) };
  return { do: "return", value: anyResult(random, outputSchema), as: random.pick(wrappers) };
}

const codes = ["OPERATION_NOT_FOUND", "ACCESS_DENIED", "VALIDATION_ERROR", "TIMEOUT", "ABORTED", "EXECUTION_ERROR"];
const otherCodes = [
  "UNKNOWN_ERROR",
  "UNAVAILABLE",
  "UPSTREAM_DENIED",
  "BAD_RESPONSE",
  "TAKEN",
  "HTTP_404",
  "NOT_DECLARED",
];

export function anyFailure(random: Random): Failure {
  const message = random.pick(["It failed.", "", "TIMEOUT", "no such file", "ü 🙂"]);
  return random
    .weighted<{ weight: number; make: () => Failure }>([
      {
        weight: 3,
        make: () => ({
          throws: "declared",
          code: random.pick(["TAKEN", "GONE", "NOT_DECLARED"]),
          details: random.chance(0.8) ? anyValue(random, 2) : exoticValue(random),
          ...(random.chance(0.5) && { message }),
        }),
      },
      {
        weight: 3,
        make: () => ({
          throws: "CallError",
          code: random.pick([...codes, ...otherCodes]),
          message,
          ...(random.chance(0.5) && { details: anyValue(random, 2) }),
          ...(random.chance(0.3) && { retryable: random.chance(0.5) }),
          ...(random.chance(0.3) && { mayHaveRun: random.chance(0.5) }),
        }),
      },
      {
        weight: 3,
        make: () => ({
          throws: "Error",
          name: random.pick(["Error", "TypeError", "RangeError", "AbortError", "TimeoutError", "Custom"]),
          message,
          ...(random.chance(0.3) && { cause: "the cause" }),
        }),
      },
      {
        weight: 2,
        make: () => ({ throws: "value", value: random.chance(0.5) ? anyValue(random) : exoticValue(random) }),
      },
    ])
    .make();
}

function anyAnnotations(random: Random): Record<string, unknown> {
  return {
    ...(random.chance(0.3) && { title: random.pick(["A title", "Ünï"]) }),
    ...(random.chance(0.5) && {
      description: random.pick(["What it does.", "Lists *all* of them\nand more.", "</script>"]),
    }),
    ...(random.chance(0.3) && { tags: random.pick([["a"], ["a", "b c"], []]) }),
    ...(random.chance(0.2) && { idempotent: random.chance(0.7) }),
    ...(random.chance(0.2) && { version: "2.1.0" }),
    ...(random.chance(0.15) && { outputPolicy: random.pick(["cast", "check", "strict"]) }),
    ...(random.chance(0.1) && { _meta: { origin: "here", serve: { unknown: true } } }),
  };
}

/** Makes the definition of a generated operation. */
export function define(operation: Operation, library: Library): IOperationDefinition {
  const { namespace, name, type, inputSchema, outputSchema, form, errors, more, action, yields } = operation;
  const { defineOperation } = library.root;
  const id = idOf(operation);
  const act = (input: unknown, context: OperationContext) => perform(action, id, input, context, library);
  const iterate = async function* (input: unknown, context: OperationContext) {
    for (const value of yields ?? []) yield value;
    if (action.do !== "return") yield await act(input, context);
  };
  return defineOperation({
    namespace,
    name,
    type,
    inputSchema: toForm(inputSchema, form, library),
    outputSchema: toForm(outputSchema, form, library),
    ...(errors !== undefined && { errors: errors as Record<string, TSchema> }),
    ...more,
    handler: (type === "subscription" ? iterate : act) as never,
  }) as unknown as IOperationDefinition;
}

/** Does what an action describes. */
export function perform(
  action: Action,
  operationId: string,
  input: unknown,
  context: OperationContext,
  library: Library,
): unknown {
  switch (action.do) {
    case "echo":
      return input;
    case "return":
      return wrap(action.value, action.as, operationId, library);
    default: {
      const error = toThrown(action.what, context, library);
      if (action.late) return Promise.resolve().then(() => Promise.reject(error));
      throw error;
    }
  }
}

function toThrown(failure: Failure, context: OperationContext, { root }: Library): unknown {
  switch (failure.throws) {
    case "declared": {
      const { code, details, message } = failure;
      return context.errors[code](details, message);
    }
    case "CallError": {
      const { code, message, details, retryable, mayHaveRun } = failure;
      return new root.CallError(code, message, details, { retryable, mayHaveRun });
    }
    case "Error": {
      const { name, message, cause } = failure;
      const error = new Error(message, cause === undefined ? {} : { cause: new Error(cause) });
      error.name = name;
      return error;
    }
    default:
      return failure.value;
  }
}

function wrap(
  value: unknown,
  wrapper: (typeof wrappers)[number],
  operationId: string,
  { root }: Library,
): unknown | Promise<unknown> | ResponseEnvelope {
  const content = [{ type: "text" as const, text: toJSONText(value) }];
  switch (wrapper) {
    case "value":
      return value;
    case "promise":
      return Promise.resolve(value);
    case "local":
      return root.localEnvelope(value, operationId);
    case "http":
      return root.httpEnvelope(value, { statusCode: 200, headers: { "x-a": "1" }, contentType: "application/json" });
    default:
      return root.mcpEnvelope(value, { isError: wrapper === "mcp error", content });
  }
}

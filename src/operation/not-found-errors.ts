import { describeValue, quote, truncate } from "../internal/text.ts";
import { CallError } from "./error.ts";
import { notStarted } from "./errors.ts";
import { parseOperationId } from "./operation-id.ts";

/** `UNAVAILABLE`: no peer or source provides the operation now, but one may soon, for example after a restart. */
export function notServedNow(id: string, mayHaveRun = false): CallError {
  const message = `${quote(id)} is not available at the moment. The peer or source that provides it may be starting; try again.`;
  return new CallError("UNAVAILABLE", message, { operationId: truncate(id, 400) }, { retryable: true, mayHaveRun });
}

/** `OPERATION_NOT_FOUND` where the existing operations are not known, as in a client. */
export function operationUnknown(id: string): CallError {
  return new CallError(
    "OPERATION_NOT_FOUND",
    `No operation ${quote(id)}.`,
    { operationId: truncate(id, 400) },
    notStarted,
  );
}

/** `OPERATION_NOT_FOUND`. `nearest` is the id that was probably meant. */
export function operationNotFound(id: string, nearest: string | undefined): CallError {
  const unknown = operationUnknown(id);
  if (nearest === undefined) return unknown;
  const message = `${unknown.message} Did you mean ${quote(nearest)}?${hintAtProperty(id, nearest)}`;
  return new CallError(unknown.code, message, { operationId: truncate(id, 400), nearest }, notStarted);
}

/** `OPERATION_NOT_FOUND` for any other value in place of an id, such as the definition of an operation. */
export function notAnId(value: unknown): CallError {
  const { namespace, name } = (value ?? {}) as Partial<Record<string, unknown>>;
  const isDefinition = typeof namespace === "string" && typeof name === "string";
  const message = isDefinition
    ? `The id of an operation must be a string. Pass ${quote(`${namespace}.${name}`)} instead of the definition.`
    : `The id of an operation must be a string, not ${describeValue(value)}.`;
  return new CallError("OPERATION_NOT_FOUND", message, undefined, notStarted);
}

/** For an id written as a property path: how a client calls an operation whose name is not an identifier. */
function hintAtProperty(id: string, nearest: string): string {
  const name = parseOperationId(nearest)?.name ?? "";
  const namespace = nearest.slice(0, -name.length - 1);
  const isPath = id.startsWith(`${namespace}.`) && /^[\w$.]+$/.test(id.slice(namespace.length + 1));
  if (!isPath || /^[\w$.]*$/.test(name)) return "";
  const object = /^[\w$]+$/.test(namespace) ? `client.${namespace}` : `client[${quote(namespace)}]`;
  return ` Its name is not an identifier, so a client calls it as ${object}[${quote(name)}](input).`;
}

/** `OPERATION_NOT_FOUND` for an operation whose spec is registered without a handler. */
export function handlerMissing(id: string): CallError {
  return new CallError(
    "OPERATION_NOT_FOUND",
    `${quote(id)} has no handler yet. Register one with registerHandler(${quote(id)}, handler).`,
    { operationId: id },
    notStarted,
  );
}

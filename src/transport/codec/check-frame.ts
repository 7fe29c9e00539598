import { isResponseEnvelope } from "../../operation/index.ts";
import type { Frame, PeerEvent } from "../transport.ts";
import { badFrame } from "./errors.ts";

/** What transports say to each other beside calls. Each has a `type` of its own. */
export interface OtherFrame {
  type: `link.${string}`;
  [field: string]: unknown;
}

/** Everything that can be on a wire. */
export type WireFrame = Frame | PeerEvent | OtherFrame;

const maxIdLength = 256;
/** Namespace, dot and name. */
const maxOperationIdLength = 64 + 1 + 256;
const maxTokenLength = 64 * 1024;

type Fields = Record<string, unknown>;

/** Gives what was parsed as a frame, or throws `BAD_RESPONSE` with the field that is wrong. */
export function checkFrame(value: unknown): WireFrame {
  if (!isObject(value)) throw badFrame("it is no object");
  if (Object.hasOwn(value, "__proto__")) throw badFrame("it has a field __proto__");
  const { type } = value;
  if (typeof type !== "string") throw badFrame("it has no type");
  const problem = findProblem(value);
  if (problem !== undefined) throw badFrame(`${problem} of ${type} is wrong`);
  return value as unknown as WireFrame;
}

/**
 * Names the field of a frame that is wrong, if one is. Both ends ask: a reader ends the link over a frame that it cannot
 * take, so what a user got wrong must fail where it is written, and alone.
 */
export function findProblem(frame: object): string | undefined {
  const fields = frame as Fields;
  // Not a table of functions: this is on the way of every frame, at both ends.
  switch (fields["type"]) {
    case "call.requested":
      return isText(fields["requestId"], maxIdLength) ? findRequestProblem(fields) : "requestId";
    case "call.responded":
      return isText(fields["requestId"], maxIdLength) ? findResponseProblem(fields) : "requestId";
    case "call.completed":
    case "call.progressed":
    case "call.credited":
    case "call.aborted":
    case "call.error":
      return isText(fields["requestId"], maxIdLength) ? findOtherProblem(fields) : "requestId";
    case "peer.announced":
    case "peer.left":
      return isText(fields["peerId"], maxIdLength) ? findPeerProblem(fields) : "peerId";
    default:
      return undefined;
  }
}

function findRequestProblem(frame: Fields): string | undefined {
  const {
    operationId,
    timeout,
    metadata,
    identity,
    token,
    parentRequestId,
    rootRequestId,
    depth,
    credit,
    creditBytes,
  } = frame;
  if (!isText(operationId, maxOperationIdLength)) return "operationId";
  if (timeout !== undefined && (typeof timeout !== "number" || Number.isNaN(timeout))) return "timeout";
  if (metadata !== undefined && !isObject(metadata)) return "metadata";
  if (identity !== undefined && !isObject(identity)) return "identity";
  if (!isOptionalText(token, maxTokenLength)) return "token";
  if (!isOptionalText(parentRequestId, maxIdLength)) return "parentRequestId";
  if (!isOptionalText(rootRequestId, maxIdLength)) return "rootRequestId";
  if (!isCount(depth, 0)) return "depth";
  if (!isCount(creditBytes, 1)) return "creditBytes";
  return isCount(credit, 0) ? undefined : "credit";
}

function findResponseProblem({ output, seq }: Fields): string | undefined {
  if (!isResponseEnvelope(output) || !isObject(output) || !isObject(output.meta)) return "output";
  return isCount(seq, 0) ? undefined : "seq";
}

function findOtherProblem(frame: Fields): string | undefined {
  const { type, progress, count, reason } = frame;
  switch (type) {
    case "call.progressed":
      return isObject(progress) ? undefined : "progress";
    case "call.credited":
      return count !== undefined && isCount(count, 1) ? undefined : "count";
    case "call.aborted":
      return isOptionalText(reason, maxTokenLength) ? undefined : "reason";
    case "call.error":
      return findErrorProblem(frame);
    default:
      return undefined;
  }
}

function findPeerProblem({ type, specs }: Fields): string | undefined {
  if (type === "peer.left") return undefined;
  return Array.isArray(specs) && specs.every(isObject) ? undefined : "specs";
}

/** A code is whatever an operation throws. */
function findErrorProblem({ code, message, retryable, mayHaveRun }: Fields): string | undefined {
  if (typeof code !== "string") return "code";
  if (typeof message !== "string") return "message";
  if (typeof retryable !== "boolean") return "retryable";
  return typeof mayHaveRun === "boolean" ? undefined : "mayHaveRun";
}

/** Tells whether a value is an object at both ends: what has a `toJSON` would arrive as whatever that gives. */
function isObject(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return typeof (value as Fields)["toJSON"] !== "function";
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxLength;
}

function isOptionalText(value: unknown, maxLength: number): boolean {
  return value === undefined || (typeof value === "string" && value.length <= maxLength);
}

/** Tells whether a value is a whole number from `least` on, or absent. */
function isCount(value: unknown, least: number): boolean {
  return value === undefined || (Number.isSafeInteger(value) && (value as number) >= least);
}

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

/** Tells which field of a frame is wrong, if one is. */
const problems: ReadonlyMap<string, (frame: Fields) => string | undefined> = new Map([
  ["call.requested", findRequestProblem],
  [
    "call.responded",
    ({ output, seq }: Fields) => firstOf(isResponseEnvelope(output) || "output", isCount(seq, 0) || "seq"),
  ],
  ["call.progressed", ({ progress }: Fields) => firstOf(isObject(progress) || "progress")],
  ["call.credited", ({ count }: Fields) => firstOf((count !== undefined && isCount(count, 1)) || "count")],
  ["call.completed", () => undefined],
  ["call.aborted", ({ reason }: Fields) => firstOf(isOptionalText(reason, maxTokenLength) || "reason")],
  ["call.error", findErrorProblem],
  ["peer.announced", ({ specs }: Fields) => firstOf((Array.isArray(specs) && specs.every(isObject)) || "specs")],
  ["peer.left", () => undefined],
]);

/** Gives what was parsed as a frame, or throws `BAD_RESPONSE` with the field that is wrong. */
export function checkFrame(value: unknown): WireFrame {
  if (!isObject(value)) throw badFrame("it is no object");
  if (Object.hasOwn(value, "__proto__")) throw badFrame("it has a field __proto__");
  const { type } = value;
  if (typeof type !== "string") throw badFrame("it has no type");
  const findProblem = problems.get(type);
  if (findProblem !== undefined) {
    const id = type.startsWith("peer.") ? "peerId" : "requestId";
    const problem = isText(value[id], maxIdLength) ? findProblem(value) : id;
    if (problem !== undefined) throw badFrame(`${problem} of ${type} is wrong`);
  }
  return value as unknown as WireFrame;
}

function findRequestProblem(frame: Fields): string | undefined {
  const { timeout, metadata, identity } = frame;
  return firstOf(
    isText(frame["operationId"], maxOperationIdLength) || "operationId",
    timeout === undefined || (typeof timeout === "number" && !Number.isNaN(timeout)) || "timeout",
    metadata === undefined || isObject(metadata) || "metadata",
    identity === undefined || isObject(identity) || "identity",
    isOptionalText(frame["token"], maxTokenLength) || "token",
    isOptionalText(frame["parentRequestId"], maxIdLength) || "parentRequestId",
    isCount(frame["credit"], 0) || "credit",
  );
}

function findErrorProblem({ code, message, retryable, mayHaveRun }: Fields): string | undefined {
  return firstOf(
    isText(code, maxIdLength) || "code",
    typeof message === "string" || "message",
    typeof retryable === "boolean" || "retryable",
    typeof mayHaveRun === "boolean" || "mayHaveRun",
  );
}

function firstOf(...checks: Array<true | string>): string | undefined {
  return checks.find((check) => check !== true) as string | undefined;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

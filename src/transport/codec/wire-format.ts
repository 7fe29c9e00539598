import type { Bytes } from "../../internal/base64.ts";
import { quote, truncate } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** The version of the wire format that this package supports. */
export const wireVersion = 1;

/** Limits of one frame. They apply at both ends of a link. */
export interface FrameLimits {
  /** Maximum size of a frame, in bytes. */
  maxMessage: number;
  /** Maximum nesting of a frame's values. */
  jsonDepth: number;
}

/** Number of levels that the frame and its envelope add. They do not count towards the limit of a value. */
export const frameLevels = 2;

/** The first character of a frame with tagged lists. Other frames are ordinary JSON. */
export const taggedMark = "~";

/** Maximum number of digits of a `bigint`. The time to parse digits grows faster than their number. */
export const maxDigits = 20_000;

/** Maximum number of errors in one message. Creating one takes about 20 times as long as any other value. */
export const maxErrors = 10_000;

/** Maximum number of maps and sets in one message. An empty one has few bytes but takes long to create. */
export const maxCollections = 500_000;

/**
 * Maximum number of numeric keys in the maps and sets of one message. Engines hash numbers without a secret, so a
 * sender can choose numbers that share a bucket. Inserting them takes quadratic time: up to a third of a second for
 * 10,000.
 */
export const maxNumericKeys = 10_000;

/** Every part of a value takes at least this many bytes in a message. */
export const minPartBytes = 2;

/**
 * The first item of a list that represents a value that JSON does not support. Used only in frames that begin with
 * `taggedMark`.
 */
export const tag = {
  /** An ordinary list whose own first item looks like a tag. */
  list: "~",
  undefined: "~undefined",
  number: "~number",
  bigint: "~bigint",
  date: "~date",
  bytes: "~bytes",
  map: "~map",
  set: "~set",
  error: "~error",
} as const;

/** Views of an `ArrayBuffer` that can be sent. */
const viewKinds = [
  "DataView",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
];

type CreateBinary = (buffer: ArrayBuffer) => unknown;

/** Functions that create a value of each kind from its bytes. Runtimes without `Float16Array` have no entry for it. */
const binaryKinds = new Map<string, CreateBinary>([["ArrayBuffer", (buffer) => buffer]]);
for (const kind of viewKinds) {
  const View = (globalThis as Record<string, unknown>)[kind] as (new (buffer: ArrayBuffer) => unknown) | undefined;
  if (View !== undefined) binaryKinds.set(kind, (buffer) => new View(buffer));
}

/**
 * Returns the kind and the bytes of a buffer or view. For a view, these are only the bytes that it covers. A view has
 * the kind of its built-in ancestor, so that a `Buffer` of Node is a `Uint8Array`.
 */
export function readBinary(value: object): { kind: string; bytes: Uint8Array } | undefined {
  if (ArrayBuffer.isView(value)) {
    const kind = (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
    if (kind === undefined || !binaryKinds.has(kind)) return undefined;
    return { kind, bytes: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) };
  }
  return value instanceof ArrayBuffer ? { kind: "ArrayBuffer", bytes: new Uint8Array(value) } : undefined;
}

/** Creates a value from its bytes. Returns `undefined` if the kind is unknown or the last element is incomplete. */
export function createBinary(kind: string, bytes: Bytes): unknown {
  try {
    return binaryKinds.get(kind)?.(bytes.buffer);
  } catch {
    return undefined; // the length is not a multiple of the element size
  }
}

const encoder = new TextEncoder();

/** Returns whether a string has more than `limit` bytes in UTF-8. Usually decides by its length alone. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  if (text.length * 3 <= limit) return false;
  return (typeof Buffer === "function" ? Buffer.byteLength(text) : encoder.encode(text).length) > limit;
}

/** `EXECUTION_ERROR`: a value cannot be sent. `path` is a JSON pointer into the frame. */
export function notSendable(
  reason: string,
  path: string,
  options: { mayHaveRun: boolean; cause?: unknown },
): CallError {
  return new CallError(
    "EXECUTION_ERROR",
    `The value at ${quote(path)} cannot be sent: ${reason}.`,
    { path: truncate(path, 400), reason },
    options,
  );
}

/** `PAYLOAD_TOO_LARGE`: a message is larger than the transport allows. */
export function payloadTooLarge(limit: number, mayHaveRun: boolean): CallError {
  return new CallError(
    "PAYLOAD_TOO_LARGE",
    `The message is larger than ${limit} bytes. If this is intended, raise limits.maxMessage at both ends, and the server's max_payload with NATS.`,
    { limit: "maxMessage", allowed: limit },
    { retryable: false, mayHaveRun },
  );
}

/**
 * `BAD_RESPONSE`: a received message is not a frame. Its content is not trusted and never part of the error message.
 */
export function badFrame(reason: string, cause?: unknown): CallError {
  return new CallError("BAD_RESPONSE", `Malformed frame: ${reason}.`, { reason }, { cause });
}

import { quote, truncate } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** The version of the wire format that this package supports. */
export const wireVersion = 1;

/** Limits of one frame, at both ends of a link. */
export interface FrameLimits {
  /** Maximum size of a frame, in bytes. */
  maxMessage: number;
  /** Maximum nesting of a frame's values. */
  jsonDepth: number;
}

/** The frame and its envelope add these levels, which do not count towards the limit of a value. */
export const frameLevels = 2;

/** The first character of a frame with tagged lists. Other frames are ordinary JSON. */
export const taggedMark = "~";

/** Reading digits takes time that grows faster than their number, so this limits what a message of them can cost. */
export const maxDigits = 20_000;

/** Creating an error takes about 20 times as long as creating any other value, so their number is limited. */
export const maxErrors = 10_000;

/** An empty map or set takes few bytes in a message, and far more time than a part of that size may. */
export const maxCollections = 500_000;

/**
 * Maximum count of numbers among the keys of the maps and sets in one message. Engines hash numbers without a secret,
 * so chosen ones can share a bucket, and the time to insert them grows with the square of their count: 10,000 take up
 * to a third of a second.
 */
export const maxNumericKeys = 10_000;

/** Every part of a value takes at least this many bytes in a message. */
export const minPartBytes = 2;

/**
 * The first item of a list that represents a value that JSON does not support. Only used in frames that begin with the
 * mark.
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

/** Creates each kind from its bytes. Runtimes without `Float16Array` have no entry for it. */
const binaryKinds = new Map<string, CreateBinary>([["ArrayBuffer", (buffer) => buffer]]);
for (const kind of viewKinds) {
  const View = (globalThis as Record<string, unknown>)[kind] as (new (buffer: ArrayBuffer) => unknown) | undefined;
  if (View !== undefined) binaryKinds.set(kind, (buffer) => new View(buffer));
}

/**
 * The kind and the bytes of a buffer or a view; of a view only what it shows. A view keeps the kind of its built-in
 * ancestor, so a `Buffer` of Node is a `Uint8Array`.
 */
export function readBinary(value: object): { kind: string; bytes: Uint8Array } | undefined {
  if (ArrayBuffer.isView(value)) {
    const kind = (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
    if (kind === undefined || !binaryKinds.has(kind)) return undefined;
    return { kind, bytes: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) };
  }
  return value instanceof ArrayBuffer ? { kind: "ArrayBuffer", bytes: new Uint8Array(value) } : undefined;
}

/** Creates the value again. Returns `undefined` for an unknown kind, or when the bytes do not fill its elements. */
export function createBinary(kind: string, bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return binaryKinds.get(kind)?.(bytes.buffer);
  } catch {
    return undefined; // the length is not a multiple of the element's
  }
}

const encoder = new TextEncoder();

/** Whether a string has more than `limit` bytes as UTF-8. Rarely has to read it. */
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

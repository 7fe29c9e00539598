import type { Post } from "./post.ts";

/** Names a call in a frame that is about several. */
export interface CallRef {
  requestId: string;
  /** Absent for the first attempt. The next one is made when the worker of an idempotent call is lost. */
  attempt?: number;
}

/** So many calls in one message, and fewer where a message must be small. */
const refsPerMessage = 500;
const maxIdLength = 256;
/** In bytes, and rather too large. */
const refSize = 400;

/** Names an attempt of a call. */
export function toCallRef(requestId: string, attempt: number): CallRef {
  return attempt === 0 ? { requestId } : { requestId, attempt };
}

/** The calls that a frame is about, or `undefined` when it is malformed. */
export function readCallRefs(value: unknown): CallRef[] | undefined {
  if (!Array.isArray(value) || value.length > refsPerMessage || !value.every(isCallRef)) return undefined;
  return value.map((ref) => toCallRef(ref.requestId, attemptOf(ref)));
}

function isCallRef(value: unknown): value is CallRef {
  const { requestId } = (value ?? {}) as Partial<CallRef>;
  return typeof requestId === "string" && requestId.length > 0 && requestId.length <= maxIdLength;
}

/** Which attempt a frame belongs to. */
export function attemptOf(frame: object): number {
  const { attempt } = frame as { attempt?: unknown };
  return Number.isSafeInteger(attempt) && (attempt as number) > 0 ? (attempt as number) : 0;
}

/** Parts of a list of which each fits into one message. */
export function* sliceRefs<T>(refs: readonly T[], { maxMessage }: Post): Iterable<T[]> {
  const most = Math.max(1, Math.min(refsPerMessage, Math.floor(maxMessage / refSize)));
  for (let start = 0; start < refs.length; start += most) yield refs.slice(start, start + most);
}

/** `ws` keeps the 32 lowest bits of what it is given. */
const largestPayload = 2 ** 31 - 1;

/**
 * The largest message, in bytes, that a socket takes. Several small frames may share one, which is then larger than the
 * largest frame of a small limit.
 */
export function toMaxPayload(maxMessage: number): number {
  return Math.min(Math.max(Math.ceil(maxMessage), 256 * 1024), largestPayload);
}

/**
 * The largest message, in bytes, that a socket takes. Several small frames may share one, which is then larger than the
 * largest frame of a small limit.
 */
export function toMaxPayload(maxMessage: number): number {
  return Math.max(maxMessage, 256 * 1024);
}

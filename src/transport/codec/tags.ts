/** The version of the wire format that this package speaks. */
export const wireVersion = 1;

/** What a frame's text begins with when there are tagged lists in it. Other frames are plain JSON. */
export const taggedMark = "~";

/** Reading digits takes time that grows faster than their number, so this bounds what a message of them can cost. */
export const maxDigits = 20_000;

/** An error takes some twenty times as long to make as any other value. */
export const maxErrors = 10_000;

/** An empty map or set takes few bytes in a message, and far more time than a part of that size may. */
export const maxCollections = 500_000;

/**
 * Maximum count of numbers among the keys of the maps and sets in one message. Engines hash numbers without a secret, so
 * chosen ones can share a bucket, and the time to insert them grows with the square of their count: 10,000 take up to a
 * third of a second.
 */
export const maxNumericKeys = 10_000;

/** How many parts the values of a message can have: every one takes at least two bytes. */
export function toMaxParts(maxMessage: number): number {
  return maxMessage / 2;
}

/** The first item of a list that stands for something JSON cannot hold. Only in texts that begin with the mark. */
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

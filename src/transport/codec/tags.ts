/** The version of the wire format that this package speaks. */
export const wireVersion = 1;

/** What a frame's text begins with when there are tagged lists in it. Other frames are plain JSON. */
export const taggedMark = "~";

/** Reading digits takes time that grows with their square, so a million of them would stop the process. */
export const maxDigits = 100_000;

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

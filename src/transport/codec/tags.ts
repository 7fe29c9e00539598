/** The version of the wire format that this package speaks. */
export const wireVersion = 1;

/** What a frame's text begins with when there are tagged lists in it. Other frames are plain JSON. */
export const taggedMark = "~";

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

import { boolean, type ObjectOf, optional, string, unknown } from "../internal/shape.ts";

// Apart from the class, so that a page can load the class without these tables.

/** Every field of a {@link CallErrorJSON}. */
export const errorJSONFields = {
  /** Identifies the kind of failure. Any string that an operation throws. */
  code: string(),
  /** A description of the failure, for people. */
  message: string(),
  /** Details of the failure; the shape depends on the code. */
  details: optional(unknown()),
  /** Whether the same call may succeed if it is repeated. */
  retryable: boolean(),
  /** Whether the operation may have had an effect; `false` guarantees that it never started. */
  mayHaveRun: boolean(),
};

/** The JSON form of a `CallError`. */
export interface CallErrorJSON extends ObjectOf<typeof errorJSONFields> {}

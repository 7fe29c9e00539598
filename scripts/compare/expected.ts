import type { Expectation } from "./judge.ts";

/** The differences between the reference and the current version that are wanted. */
export const expectations: readonly Expectation[] = [];

import type { Link } from "../link/index.ts";

/** A thread or process that a pool has started. */
export interface Member {
  readonly link: Link;
  /** Ends it, politely where that can be had. Resolves when it is gone. */
  end(): Promise<void>;
}

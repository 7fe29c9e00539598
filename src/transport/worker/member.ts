import type { Connection } from "../peer/index.ts";

/** A thread or process that a pool has started. */
export interface Member {
  readonly link: Connection;
  /** Ends it, politely where that can be had. Resolves when it is gone. */
  end(): Promise<void>;
}

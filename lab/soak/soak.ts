import type { PendingRequestMap } from "../../src/call/index.ts";
import type { Way } from "./connecting.ts";
import type { Counts } from "./operations.ts";
import type { TransportName } from "./transports.ts";

/** What a soak works with. */
export interface SoakRun {
  readonly calls: PendingRequestMap;
  readonly way: Way;
  /** Where the broker or server listens. */
  readonly port: number;
  /** How often to do it. */
  readonly count: number;
  /** Reports the progress. */
  progress(done: number): void;
  /** Requests from the server what its handlers have done. */
  counts(): Promise<Counts>;
  /** Collects garbage in both processes. Memory that is held during the run counts too. */
  sample(): Promise<void>;
}

/** Something that is done so often that whatever is left behind each time shows. */
export interface Soak {
  name: string;
  /** One line for `--help`. */
  about: string;
  /** How often, at scale 1. */
  count: number;
  /** @default all of them */
  transports?: readonly TransportName[];
  /** How much either side may hold meanwhile, in bytes above what it held before. @default not looked at */
  mayHold?: number;
  /** Runs it and returns the problems, one line each. */
  run(run: SoakRun): Promise<string[]>;
}

/** The result of a soak, in bytes and ms. Sizes are those of the caller and the server, or one if they share a heap. */
export interface Outcome {
  soak: string;
  count: number;
  time: number;
  /** Growth that stayed. */
  kept: number[];
  /** Most growth that was seen in mid-run, after a collection. */
  held: number[];
  /** Most growth of the processes. */
  peakRSS: number[];
  problems: string[];
}

/** 1 MB. */
export const megabyte = 1024 * 1024;

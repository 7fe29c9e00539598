/** What is promised of a run, with how far a machine that is busy with other things may be off. Times are in ms. */
export interface Promises {
  /** A call settles at most this long after its deadline. */
  settle: number;
  /** A handler starts at most this long after the deadline of its call, and receives at most this much time too much. */
  start: number;
  /** Maximum time between the abort of a call and the start of its handler, if nothing was broken in between. */
  abort: number;
  /** A handler is notified within this time that no caller waits for it any more, where nothing was broken in between. */
  stop: number;
  /** A call settles at most this long after its worker was killed, where nothing else was broken. */
  loss: number;
  /** A worker that drains ends within this time: what the drain waits for, and a margin for closing its links. */
  drain: number;
  /** Maximum time until new calls succeed after all faults have ended. */
  heal: number;
  /** How many bytes more than at the beginning a process may hold in the end. */
  memory: number;
  /** Maximum time for which an event loop may be blocked. Missing if the machine is shared. */
  loop?: number;
  /** Secrets that must not appear in a history. */
  secrets: readonly string[];
}

/** What the transports of this package promise. */
export const defaultPromises: Promises = {
  settle: 1_000,
  start: 250,
  abort: 250,
  stop: 2_000,
  loss: 3 * 500 + 1_000, // three heartbeats, as short as they are in these runs
  drain: 15_000,
  heal: 5_000,
  memory: 50 * 1024 * 1024,
  secrets: [],
};

/** The same guarantees with time limits multiplied by a factor, for a busy machine. */
export function promiseWithPatience(factor: number): Partial<Promises> {
  const { settle, start, abort, stop, loss, drain, heal } = defaultPromises;
  return {
    settle: settle * factor,
    start: start * factor,
    abort: abort * factor,
    stop: stop * factor,
    loss: loss * factor,
    drain: drain * factor,
    heal: heal * factor,
  };
}

/** When and where something happened. */
interface Happening {
  /** Milliseconds of the machine's own clock, which all its processes share and none can set. See `now()`. */
  at: number;
  /** The process or thread that wrote it down. */
  by: string;
}

/** A caller starts a call. `call` is a number used once, which is sent with the input and returned with the output. */
export interface Asked extends Happening {
  kind: "asked";
  call: string;
  operation: string;
  transport: string;
  /** When it must have settled, by the same clock as `at`. Subscriptions may have none. */
  deadline?: number;
  isIdempotent?: boolean;
  /** No worker may start it for this caller. */
  isDenied?: boolean;
  /** A subscription, and how many values it has. */
  values?: number;
}

/** The caller cancels the call. */
export interface Aborted extends Happening {
  kind: "aborted";
  call: string;
}

/** The caller was notified how the call ended: with a response, with an error, with its last value, or because it left. */
export interface Settled extends Happening {
  kind: "settled";
  call: string;
  outcome: "answered" | "failed" | "completed" | "left";
  /** The request that the reply names. */
  answer?: string;
  code?: string;
  message?: string;
  retryable?: boolean;
  mayHaveRun?: boolean;
}

/** A handler starts. `left` is the time that it received, in ms. */
export interface Started extends Happening {
  kind: "started";
  call: string;
  left?: number;
}

/** A handler's signal has fired. */
export interface Stopped extends Happening {
  kind: "stopped";
  call: string;
}

/** A handler has returned or thrown. */
export interface Ended extends Happening {
  kind: "ended";
  call: string;
}

/** A value of a subscription arrived. `value` is its number, as the producer counted it. */
export interface Received extends Happening {
  kind: "received";
  call: string;
  value: number;
}

/** Something was broken on purpose, from now until it is healed. */
export interface Injected extends Happening {
  kind: "injected";
  fault: string;
  transport: string;
  /** Names this one among its like. */
  id: string;
}

/** The fault has ended: from now on calls must succeed. */
export interface Healed extends Happening {
  kind: "healed";
  transport: string;
  id: string;
}

/** A process or thread was ended without a chance to write anything down. */
export interface Killed extends Happening {
  kind: "killed";
  who: string;
}

/** A stranger sent a request in the name of another caller. No worker may start it. */
export interface Forged extends Happening {
  kind: "forged";
  call: string;
}

/** A peer was closed. Contains what it left behind. */
export interface Closed extends Happening {
  kind: "closed";
  who: string;
  left: string[];
  /** How long closing took, in ms, where that is promised. */
  took?: number;
}

/** How much memory a process holds, after a collection. */
export interface MemorySampled extends Happening {
  kind: "memory";
  bytes: number;
}

/** The event loop was blocked for this many ms until now. */
export interface LoopHeldUp extends Happening {
  kind: "loop";
  delay: number;
}

/** An unhandled rejection or an uncaught error. */
export interface Rejected extends Happening {
  kind: "rejected";
  message: string;
}

/** One line of a history. */
export type HistoryEvent =
  | Asked
  | Aborted
  | Settled
  | Started
  | Stopped
  | Ended
  | Received
  | Injected
  | Healed
  | Killed
  | Forged
  | Closed
  | MemorySampled
  | LoopHeldUp
  | Rejected;

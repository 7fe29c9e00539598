import { logger } from "../internal/log.ts";
import { startTimer } from "../internal/timers.ts";
import { CallError, resolveDuration } from "../operation/index.ts";
import {
  type CallRequested,
  isLastReply,
  type OnRequest,
  type Reply,
  type ReplyFrame,
  type SendFollowUp,
  toFailedFrame,
} from "../transport/transport.ts";
import type { CallHandler } from "./call-handler.ts";
import { sendError } from "./incoming-request.ts";

const log = logger("call");

/** In ms: how long running calls may take to finish when a server stops. */
const defaultDrainTimeout = 10_000;

/** How a server stops. */
export interface StopOptions {
  /**
   * How long, in ms, running calls may take to finish. Those that have not finished by then fail with `UNAVAILABLE`, and
   * their handlers' signals fire. 0 does not wait; `Infinity` waits as long as the calls take.
   * @default 10,000
   */
  timeout?: number;
}

/** The requests that one handler runs. */
export interface RunningRequests {
  /** Ends those of one kind, each with the error that its caller gets. */
  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void;
  /** Resolves when none is left. */
  settled(): Promise<void>;
}

/** The running requests of handlers that reply to every request themselves and never through the map. */
const runningOf = new WeakMap<object, RunningRequests>();

/** Notes that a handler replies to every request itself, and what it runs. */
export function setRunningRequests(handler: object, running: RunningRequests): void {
  runningOf.set(handler, running);
}

/** What a handler runs that replies to every request itself; `undefined` for all others. */
export function runningRequestsOf(handler: object): RunningRequests | undefined {
  return runningOf.get(handler);
}

/** Stops serving within the timeout: subscriptions end immediately, calls may finish. */
export async function drain(
  stopServing: () => Promise<void>,
  running: RunningRequests,
  options: StopOptions = {},
): Promise<void> {
  const timeout = resolveDuration("timeout", options.timeout, defaultDrainTimeout, { zero: true, infinite: true });
  running.end("subscriptions", serverStopped);
  const finished = (async () => {
    await stopServing();
    // Those that arrived until no further request could.
    running.end("subscriptions", serverStopped);
    await running.settled();
  })();
  if (await endsWithin(finished, timeout)) return;
  log.warn("Serving was stopped after {timeout} ms, before everything had finished.", { timeout });
  running.end("all", serverStopped);
  finished.catch((error) => log.warn("Serving could not be stopped in order: {error}", { error }));
}

/** Whether a promise resolves in time. Rejects as the promise does. */
async function endsWithin(finished: Promise<void>, milliseconds: number): Promise<boolean> {
  let expire: (isInTime: boolean) => void = () => {};
  const late = new Promise<boolean>((resolve) => {
    expire = resolve;
  });
  const timer = startTimer(() => expire(false), milliseconds);
  try {
    return await Promise.race([finished.then(() => true), late]);
  } finally {
    timer.stop();
  }
}

function serverStopped(operationId: string): CallError {
  const message = `The server of "${operationId}" stopped before it had finished.`;
  return new CallError("UNAVAILABLE", message, { operationId }, { retryable: true, mayHaveRun: true });
}

/** A request that a handler replies to through the map. */
interface Recorded {
  readonly frame: CallRequested;
  readonly reply: Reply;
  readonly handler: HandlerRequests;
  /** Receives the later frames of the request. */
  followUp: SendFollowUp | undefined;
  seq: number;
}

/** The requests of handlers that may reply by the methods of the map, by request id. */
export class RecordedRequests {
  readonly #requests = new Map<string, Recorded>();

  /** The frame of a request that has not ended. */
  get(requestId: string): CallRequested | undefined {
    return this.#requests.get(requestId)?.frame;
  }

  /** The number of the next value of a subscription; responses to calls have none. */
  nextSeq(requestId: string): number | undefined {
    const request = this.#requests.get(requestId);
    if (request?.frame.credit === undefined) return undefined;
    request.seq += 1;
    return request.seq - 1;
  }

  /** Sends a reply to a request that has not ended. */
  reply(requestId: string, frame: ReplyFrame): void | Promise<void> {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    if (isLastReply(frame)) this.#end(request);
    return request.reply(frame);
  }

  clear(): void {
    this.#requests.clear();
  }

  /** Records the requests of a handler. */
  record(handler: CallHandler): { onRequest: OnRequest; running: RunningRequests } {
    const running = new HandlerRequests(handler, (request) => this.#end(request));
    const onRequest: OnRequest = (frame, reply, caller) => {
      const { requestId } = frame;
      if (this.#requests.has(requestId)) {
        void reply(toFailedFrame(requestId, idInUse(frame)));
        return () => {};
      }
      const request: Recorded = { frame, reply, handler: running, followUp: undefined, seq: 0 };
      this.#requests.set(requestId, request);
      running.add(request);
      const own: Reply = (message) => {
        if (isLastReply(message)) this.#end(request);
        return reply(message);
      };
      request.followUp = handler(frame, own, caller) ?? undefined;
      return (later) => {
        if (later.type === "call.aborted") this.#end(request);
        request.followUp?.(later);
      };
    };
    return { onRequest, running };
  }

  #end(request: Recorded): void {
    const { requestId } = request.frame;
    if (this.#requests.get(requestId) === request) this.#requests.delete(requestId);
    request.handler.delete(request);
  }
}

class HandlerRequests implements RunningRequests {
  readonly #handler: CallHandler;
  readonly #onEnd: (request: Recorded) => void;
  readonly #open = new Set<Recorded>();
  #waiting: Array<() => void> = [];

  constructor(handler: CallHandler, onEnd: (request: Recorded) => void) {
    this.#handler = handler;
    this.#onEnd = onEnd;
  }

  add(request: Recorded): void {
    this.#open.add(request);
  }

  delete(request: Recorded): void {
    this.#open.delete(request);
    if (this.#open.size > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void {
    for (const request of [...this.#open]) {
      const { requestId, operationId, credit } = request.frame;
      if (which === "subscriptions" && credit === undefined) continue;
      this.#onEnd(request);
      const error = toError(operationId);
      void sendError(request.reply, request.frame, error);
      request.followUp?.({ type: "call.aborted", requestId, reason: error.message });
    }
  }

  async settled(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#handler.settled?.();
  }
}

function idInUse({ operationId }: CallRequested): CallError {
  const message = `The request id of "${operationId}" is in use.`;
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

import { logger } from "../internal/log.ts";
import { settlesWithin } from "../internal/wait.ts";
import { CallError, resolveDuration } from "../operation/inside.ts";
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

/** Default time for running calls to finish when a server stops, in ms. */
const defaultDrainTimeout = 10_000;

/** Options for stopping a server. */
export interface StopOptions {
  /**
   * Time for running calls to finish, in ms. Calls that have not finished by then fail with `UNAVAILABLE`, and their
   * handlers' signals fire. 0 does not wait; `Infinity` waits until all calls have finished.
   * @default 10,000
   */
  timeout?: number | undefined;
}

/** The requests that one handler runs. */
export interface RunningRequests {
  /** Ends the selected requests. `toError` creates the error that the caller receives. */
  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void;
  /** Resolves when no request is running. */
  settled(): Promise<void>;
}

/** Running requests of the handlers that reply to every request themselves, and never through the map. */
const runningOf = new WeakMap<object, RunningRequests>();

/** Records the running requests of a handler that replies to every request itself. */
export function setRunningRequests(handler: object, running: RunningRequests): void {
  runningOf.set(handler, running);
}

/**
 * Returns the running requests of a handler that replies to every request itself, and `undefined` for any other
 * handler.
 */
export function runningRequestsOf(handler: object): RunningRequests | undefined {
  return runningOf.get(handler);
}

/** Stops serving within the timeout. Subscriptions end immediately; calls may finish. */
export async function drain(
  stopServing: () => Promise<void>,
  running: RunningRequests,
  options: StopOptions = {},
): Promise<void> {
  const timeout = resolveDuration("timeout", options.timeout, defaultDrainTimeout, { zero: true, infinite: true });
  running.end("subscriptions", serverStopped);
  const finished = (async () => {
    await stopServing();
    // Also end the subscriptions that arrived while serving was being stopped.
    running.end("subscriptions", serverStopped);
    await running.settled();
  })();
  if (await settlesWithin(timeout, finished)) return finished;
  log.warn("Serving was stopped after {timeout} ms, before all calls had finished.", { timeout });
  running.end("all", serverStopped);
  finished.catch((error) => log.warn("Serving was not stopped cleanly: {error}", { error }));
}

function serverStopped(operationId: string): CallError {
  const message = `The server stopped before "${operationId}" had finished.`;
  return new CallError("UNAVAILABLE", message, { operationId }, { retryable: true, mayHaveRun: true });
}

/** A request whose handler replies through the map. */
interface Recorded {
  readonly frame: CallRequested;
  readonly reply: Reply;
  readonly handler: HandlerRequests;
  /** Receives the later frames of the request. */
  followUp: SendFollowUp | undefined;
  seq: number;
}

/** Requests of handlers that may reply with the methods of the map, by request id. */
export class RecordedRequests {
  readonly #requests = new Map<string, Recorded>();

  /** Returns the frame of a request that has not ended. */
  get(requestId: string): CallRequested | undefined {
    return this.#requests.get(requestId)?.frame;
  }

  /** Returns the sequence number of the next value of a subscription. Responses to calls do not have one. */
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
  const message = `The request id of "${operationId}" is already in use.`;
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

import { BackOff } from "../internal/back-off.ts";
import { logger } from "../internal/log.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { CallError, formatOperationId, isCallError, type OperationSpec, toPublicSpec } from "../operation/inside.ts";
import type { OnRequest, StopServing, Transport } from "../transport/transport.ts";
import type { CallHandler, HandlerChange } from "./call-handler.ts";

const log = logger("call");

/** Delays before serving is retried after the transport was not available, in ms. */
const retryDelays = { first: 250, max: 2_000 };

/** A handler that lists its operations. */
export type ListedHandler = CallHandler & Required<Pick<CallHandler, "operations">>;

/** Whether a handler lists its operations. */
export function isListed(handler: CallHandler): handler is ListedHandler {
  return handler.operations !== undefined;
}

/** Serves a handler that does not list its operations. Throws a `TypeError` if the transport does not support it. */
export class ServedUnlistedHandler {
  readonly #serving: Promise<StopServing>;
  /** Resolves when the handler is served. Rejects if the transport refuses it. */
  readonly ready: Promise<void>;

  constructor(transport: Transport, onRequest: OnRequest) {
    if (transport.serveUnlisted === undefined) {
      const message = `The ${transport.name} transport serves operations by name. Add an operations() method to the handler that lists them.`;
      throw new TypeError(message);
    }
    this.#serving = transport.serveUnlisted(onRequest);
    this.ready = this.#serving.then(() => {});
    this.ready.catch((error) =>
      log.error("The {transport} transport cannot serve the operations: {error}", { transport: transport.name, error }),
    );
  }

  async stop(): Promise<void> {
    const stop = await this.#serving.catch(() => undefined);
    await stop?.();
  }
}

/** Keeps a transport serving and announcing exactly the operations of a handler. */
export class ServedHandler {
  readonly #transport: Transport;
  readonly #handler: ListedHandler;
  readonly #onRequest: OnRequest;
  /** Whether the transport is open. A closed transport stays closed. */
  readonly #isOpen: () => boolean;
  /** The functions that stop serving each operation. Several operations may share one. */
  readonly #stops = new Map<string, Promise<StopServing>>();
  /** Operations that are being withdrawn, each with a promise for the end of its withdrawal. */
  readonly #withdrawals = new Map<string, Promise<void>>();
  readonly #stopListening: () => void;
  readonly #backOff = new BackOff(retryDelays);
  #announcing: Promise<void> | undefined = undefined;
  #isStopped = false;
  #retry: Timer | undefined = undefined;
  /**
   * Resolves when the operations of the handler are served and announced. While the transport is unavailable, it stays
   * pending and serving is retried. Rejects if the transport refuses, or if serving is stopped first.
   */
  readonly ready: Promise<void>;
  #settleReady: { resolve(): void; reject(error: unknown): void } | undefined = undefined;

  constructor(transport: Transport, handler: ListedHandler, onRequest: OnRequest, isOpen: () => boolean) {
    this.#transport = transport;
    this.#handler = handler;
    this.#onRequest = onRequest;
    this.#isOpen = isOpen;
    this.#stopListening = handler.onChange?.((change) => this.#apply(change)) ?? (() => {});
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => {}); // #onFailed logs the error.
    this.#begin(handler.operations().map(toId)).then(
      () => this.#onServed(),
      (error) => this.#onFailed(error),
    );
  }

  /** Rejects further requests. Does not wait for running calls. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#settleReady?.reject(servingStopped());
    this.#retry?.stop();
    this.#stopListening();
    const stops = new Set(this.#stops.values());
    this.#stops.clear();
    await this.#announcing?.catch(() => {}); // #onFailed logs the error.
    await this.#transport.announce([]).catch((error) => {
      log.warn("The {transport} transport cannot withdraw the operations: {error}", {
        transport: this.#transport.name,
        error,
      });
    });
    // An operation that could not be served does not have to be stopped.
    const ends = Array.from(stops, (stop) => stop.catch(() => undefined).then((end) => end?.()));
    await Promise.all(ends);
  }

  async #begin(ids: readonly string[]): Promise<void> {
    await this.#serve(ids);
    await this.#announceSoon();
  }

  #serve(ids: readonly string[]): Promise<StopServing> {
    const serve = () => this.#transport.serve(ids, this.#onRequest);
    const withdrawals = ids.flatMap((id) => this.#withdrawals.get(id) ?? []);
    // An operation that is added again during its withdrawal must not be stopped by it.
    const stop = withdrawals.length === 0 ? serve() : Promise.all(withdrawals).then(serve);
    for (const id of ids) this.#stops.set(id, stop);
    stop.catch(() => {
      for (const id of ids) if (this.#stops.get(id) === stop) this.#stops.delete(id);
    });
    return stop;
  }

  #apply({ added }: HandlerChange): void {
    if (this.#isStopped) return;
    const unserved = added.filter((id) => !this.#stops.has(id));
    const changes: Promise<unknown>[] = unserved.length > 0 ? [this.#serve(unserved)] : [];
    changes.push(this.#announceSoon());
    Promise.all(changes).then(
      () => this.#onServed(),
      (error) => this.#onFailed(error),
    );
  }

  #onServed(): void {
    this.#backOff.reset();
    this.#settleReady?.resolve();
    this.#settleReady = undefined;
  }

  /** Retries, unless the transport refused the operations before they were served for the first time. */
  #onFailed(error: unknown): void {
    this.#report(error);
    const wasReady = this.#settleReady === undefined;
    if (wasReady || (isCallError(error) && error.retryable && this.#isOpen())) return this.#retrySoon();
    this.#settleReady?.reject(error);
    this.#settleReady = undefined;
  }

  #retrySoon(): void {
    if (this.#isStopped || this.#retry !== undefined) return;
    const retry = () => {
      this.#retry = undefined;
      this.#apply({ added: this.#handler.operations().map(toId), removed: [] });
    };
    this.#retry = startTimer(retry, this.#backOff.next(), { keepsAlive: false });
  }

  #withdraw(id: string, stop: Promise<StopServing>): void {
    this.#stops.delete(id);
    const withdrawal = stop
      .then((end) => end([id]))
      .catch((error) => this.#report(error))
      .finally(() => {
        if (this.#withdrawals.get(id) === withdrawal) this.#withdrawals.delete(id);
      });
    this.#withdrawals.set(id, withdrawal);
  }

  /** Sends one announcement for all changes of the same turn, because each announcement lists all operations. */
  #announceSoon(): Promise<void> {
    this.#announcing ??= (async () => {
      await Promise.allSettled(this.#stops.values());
      this.#announcing = undefined;
      if (!this.#isStopped) await this.#announce();
    })();
    return this.#announcing;
  }

  async #announce(): Promise<void> {
    const specs = this.#handler.operations().map(toPublicSpec);
    const ids = new Set(specs.map(toId));
    for (const [id, stop] of this.#stops) if (!ids.has(id)) this.#withdraw(id, stop);
    await this.#transport.announce(specs);
  }

  #report(error: unknown): void {
    if (!this.#isStopped)
      log.error("The {transport} transport cannot serve the operations: {error}", {
        transport: this.#transport.name,
        error,
      });
  }
}

function toId({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

function servingStopped(): CallError {
  const message = "Serving was stopped before the operations of the handler were served.";
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun: false });
}

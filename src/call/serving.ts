import { logger } from "../internal/log.ts";
import { formatOperationId, isCallError, type OperationSpec, unavailable } from "../operation/index.ts";
import type { OnRequest, StopServing, Transport } from "../transport/transport.ts";
import type { CallHandler, HandlerChange } from "./call-handler.ts";

const log = logger("call");

/** In ms: what could not be served while a broker was away is tried again after this, and twice as long each time. */
const firstPause = 250;
const longestPause = 2_000;

/** A handler that lists its operations. */
export type ListedHandler = CallHandler & Required<Pick<CallHandler, "operations">>;

/** Whether a handler lists its operations. */
export function isListed(handler: CallHandler): handler is ListedHandler {
  return handler.operations !== undefined;
}

/** Serves a handler that does not list its operations. Throws a `TypeError` where a transport cannot do that. */
export class UnlistedServing {
  readonly #stopping: Promise<StopServing>;
  readonly ready: Promise<void>;

  constructor(transport: Transport, onRequest: OnRequest) {
    if (transport.serveUnlisted === undefined) {
      const message = `The ${transport.name} transport serves operations by name. Give the handler an operations() method that lists them.`;
      throw new TypeError(message);
    }
    this.#stopping = transport.serveUnlisted(onRequest);
    this.ready = this.#stopping.then(() => {});
    this.ready.catch((error) => log.error("{transport} cannot serve: {error}", { transport: transport.name, error }));
  }

  async stop(): Promise<void> {
    const stop = await this.#stopping.catch(() => undefined);
    await stop?.();
  }
}

/** Keeps a transport serving and announcing exactly what a handler can answer. */
export class Serving {
  readonly #transport: Transport;
  readonly #handler: ListedHandler;
  readonly #onRequest: OnRequest;
  /** Whether the transport may be used; one that was closed does not come back. */
  readonly #isOpen: () => boolean;
  /** What stops each operation; several may share one. */
  readonly #stops = new Map<string, Promise<StopServing>>();
  /** Operations that are on their way out, and when they are. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #stopListening: () => void;
  #announcing: Promise<void> | undefined = undefined;
  #isOver = false;
  #pause = firstPause;
  #retrying: ReturnType<typeof setTimeout> | undefined = undefined;
  /**
   * Resolves when what the handler has is served and announced. While the transport is unavailable it stays pending, and
   * serving is tried again. Rejects when the transport refuses, or when serving is stopped before.
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
    this.ready.catch(() => {}); // it was reported
    this.#begin(handler.operations().map(toId)).then(
      () => this.#onServed(),
      (error) => this.#onFailed(error),
    );
  }

  /** Takes no further request. Those that run are not waited for. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#settleReady?.reject(unavailable("Serving was stopped; the handler", { mayHaveRun: false }));
    clearTimeout(this.#retrying);
    this.#stopListening();
    const stops = new Set(this.#stops.values());
    this.#stops.clear();
    // What could not be served or announced was told when it failed, and needs no end.
    await this.#announcing?.catch(() => {});
    // Where the link is lost nobody can be told, and nobody asks.
    await this.#transport.announce([]).catch((error) => {
      log.warn("{transport} cannot say that it stops serving: {error}", { transport: this.#transport.name, error });
    });
    await Promise.all(
      Array.from(stops, (stop) =>
        stop.then(
          (end) => end(),
          () => {},
        ),
      ),
    );
  }

  async #begin(ids: readonly string[]): Promise<void> {
    await this.#serve(ids);
    await this.#announceSoon();
  }

  #serve(ids: readonly string[]): Promise<StopServing> {
    const serve = () => this.#transport.serve(ids, this.#onRequest);
    const left = ids.flatMap((id) => this.#leaving.get(id) ?? []);
    // What comes back while it goes must not be stopped by its own end.
    const stop = left.length === 0 ? serve() : Promise.all(left).then(serve);
    for (const id of ids) this.#stops.set(id, stop);
    stop.catch(() => {
      for (const id of ids) if (this.#stops.get(id) === stop) this.#stops.delete(id);
    });
    return stop;
  }

  #apply({ added }: HandlerChange): void {
    if (this.#isOver) return;
    const fresh = added.filter((id) => !this.#stops.has(id));
    const changes: Promise<unknown>[] = [];
    if (fresh.length > 0) changes.push(this.#serve(fresh));
    changes.push(this.#announceSoon());
    Promise.all(changes).then(
      () => this.#onServed(),
      (error) => this.#onFailed(error),
    );
  }

  #onServed(): void {
    this.#pause = firstPause;
    this.#settleReady?.resolve();
    this.#settleReady = undefined;
  }

  /** Before it was ready, only a transport that may come back is tried again. */
  #onFailed(error: unknown): void {
    const isFirst = this.#settleReady !== undefined;
    if (!isFirst || (isCallError(error) && error.retryable && this.#isOpen())) return this.#retrySoon(error);
    this.#report(error);
    this.#settleReady?.reject(error);
    this.#settleReady = undefined;
  }

  /** What was ready once stays so: a change that a lost link kept from being told is told when it is back. */
  #retrySoon(error: unknown): void {
    this.#report(error);
    if (this.#isOver || this.#retrying !== undefined) return;
    this.#retrying = setTimeout(() => {
      this.#retrying = undefined;
      this.#apply({ added: this.#handler.operations().map(toId), removed: [] });
    }, this.#pause);
    if (typeof this.#retrying === "object") this.#retrying.unref();
    this.#pause = Math.min(2 * this.#pause, longestPause);
  }

  #withdraw(id: string, stop: Promise<StopServing>): void {
    this.#stops.delete(id);
    const leaving = stop
      .then((end) => end([id]))
      .catch((error) => this.#report(error))
      .finally(() => {
        if (this.#leaving.get(id) === leaving) this.#leaving.delete(id);
      });
    this.#leaving.set(id, leaving);
  }

  /** Changes tend to come in numbers, and each announcement holds everything. */
  #announceSoon(): Promise<void> {
    this.#announcing ??= (async () => {
      await Promise.allSettled(this.#stops.values());
      this.#announcing = undefined;
      if (!this.#isOver) await this.#announce();
    })();
    return this.#announcing;
  }

  async #announce(): Promise<void> {
    const specs = this.#handler.operations().map(withoutMeta);
    const ids = new Set(specs.map(toId));
    for (const [id, stop] of this.#stops) if (!ids.has(id)) this.#withdraw(id, stop);
    await this.#transport.announce(specs);
  }

  #report(error: unknown): void {
    if (!this.#isOver) log.error("{transport} cannot serve: {error}", { transport: this.#transport.name, error });
  }
}

/** What a spec says beside the contract may be internal, such as URLs; it stays here. */
function withoutMeta(spec: OperationSpec): OperationSpec {
  if (spec._meta === undefined) return spec;
  const { _meta, ...published } = spec;
  return published;
}

function toId({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

import { hashJSON } from "../../internal/canonical-json.ts";
import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { CallError, formatOperationId, type IOperationDefinition, resolveDuration } from "../../operation/index.ts";
import { type PinnableOperation, Pins } from "../pins.ts";
import type { OperationSource, SourceChange, Unsubscribe } from "../source.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPISpec } from "./document.ts";
import { badConfig } from "./errors.ts";
import { FromOpenAPI, FromOpenAPIFile, FromOpenAPIUrl, locate, type OpenAPIFS } from "./from-openapi.ts";
import type { ImportedOperation } from "./operation.ts";
import { assertNumbers } from "./service-state.ts";

const log = logger("from", "openapi");

/** A service to follow: its configuration, and where its document is. */
export interface OpenAPIServiceOptions extends HTTPServiceConfig {
  /** The document itself; a function is called at every load. Pass one of `spec`, `url` and `file`. */
  spec?: OpenAPISpec | (() => OpenAPISpec | Promise<OpenAPISpec>);
  /** URL of the document. */
  url?: string;
  /** Path of the document. */
  file?: string;
  /** For `file`. @default Node's file system */
  fs?: OpenAPIFS;
  /** Interval in ms, above 0, at which the document is read again while there is a listener; `Infinity` never. @default never */
  refresh?: number;
  /**
   * Switches off operations that are not what was approved: with `true` what the first load found, else what has the
   * hash that is given here (see {@link OpenAPIService.hashes}). They fail with `UNAVAILABLE` until they are approved.
   */
  pinned?: boolean | Record<string, string>;
}

/** The changes of a service's operations, with the hash of each before and after. */
export interface OpenAPIServiceChange extends SourceChange {
  /** By operation id. `before` is absent for an added operation, `after` for a removed one. */
  hashes: Record<string, { before?: string; after?: string }>;
}

type KnownOperation = PinnableOperation<ImportedOperation>;

/** One imported service as a source that can be read again. */
export class OpenAPIService implements OperationSource {
  readonly name: string;
  readonly #options: OpenAPIServiceOptions;
  // Kept, because the operations of all loads share its limits on concurrency and retries.
  readonly #config: HTTPServiceConfig;
  readonly #changes = new Emitter<OpenAPIServiceChange>((error) =>
    log.error("{name}: a listener failed: {error}", { name: this.name, error }),
  );
  readonly #pins: Pins<ImportedOperation>;
  readonly #refresh: number;
  #known = new Map<string, KnownOperation>();
  #timer: Timer | undefined;
  #reading: Promise<OpenAPIServiceChange> | undefined;
  #isLoaded = false;
  #isClosed = false;

  constructor(options: OpenAPIServiceOptions) {
    const { spec, url, file, fs, refresh, pinned, ...config } = options;
    assertNumbers(config);
    this.#refresh = resolveDuration("refresh", refresh, Number.POSITIVE_INFINITY, { infinite: true });
    this.#options = options;
    this.#config = locate(config, options);
    this.#pins = new Pins(pinned);
    this.name = `openapi:${options.namespace}`;
  }

  /** Reads the document and returns its operations. Listeners also receive what changed since an earlier load. */
  async load(options: { signal?: AbortSignal } = {}): Promise<IOperationDefinition[]> {
    await this.reload(options);
    return this.operations();
  }

  /** The operations of the last load. Pinned ones that are not approved are included, but fail. */
  operations(): ImportedOperation[] {
    return Array.from(this.#known, ([id, known]) => this.#offer(id, known));
  }

  /** Hash of each operation as it is now, for `pinned` in a later run. */
  hashes(): Record<string, string> {
    return Object.fromEntries(Array.from(this.#known, ([id, { hash }]) => [id, hash]));
  }

  /** Reads the document again and returns what changed. Rejects, changing nothing, when it cannot be read. */
  reload(options: { signal?: AbortSignal } = {}): Promise<OpenAPIServiceChange> {
    if (this.#isClosed) return Promise.reject(new CallError("UNAVAILABLE", `${this.name} is closed.`));
    this.#reading ??= this.#reload(options).finally(() => {
      this.#reading = undefined;
      this.#schedule();
    });
    return this.#reading;
  }

  /** Approves operations as they are now, all or by id, and switches them on again. */
  approve(...ids: string[]): void {
    const changed: ImportedOperation[] = [];
    for (const id of ids.length > 0 ? ids : this.#known.keys()) {
      const known = this.#known.get(id);
      if (known === undefined || this.#pins.isApproved(id, known.hash)) continue;
      this.#pins.approve(id, known.hash);
      changed.push(this.#offer(id, known));
    }
    if (changed.length > 0 && !this.#isClosed) this.#changes.emit({ added: [], changed, removed: [], hashes: {} });
  }

  onChange(listener: (change: OpenAPIServiceChange) => void): Unsubscribe {
    const stop = this.#changes.on(listener);
    this.#schedule();
    return () => {
      stop();
      if (!this.#changes.hasListeners) this.#timer?.stop();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #reload(options: { signal?: AbortSignal }): Promise<OpenAPIServiceChange> {
    const before = this.#known;
    const after = new Map<string, KnownOperation>();
    for (const operation of await this.#read(options)) {
      const id = formatOperationId(operation.namespace, operation.name);
      after.set(id, { operation, hash: await hashOperation(operation) });
    }
    const isFirst = !this.#isLoaded;
    this.#known = after;
    this.#isLoaded = true;
    this.#pins.approveFirst(after);
    const change = this.#compare(before, after);
    const hasChanged = change.added.length + change.changed.length + change.removed.length > 0;
    if (!isFirst && hasChanged && !this.#isClosed) this.#changes.emit(change);
    return change;
  }

  async #read(options: { signal?: AbortSignal }): Promise<ImportedOperation[]> {
    const { spec, url, file, fs } = this.#options;
    const config = this.#config;
    if (url !== undefined) return FromOpenAPIUrl(url, config, options);
    if (file !== undefined) return FromOpenAPIFile(file, config, fs);
    if (spec === undefined) throw badConfig(`${this.name} needs one of spec, url and file.`);
    return FromOpenAPI(typeof spec === "function" ? await spec() : spec, config);
  }

  #compare(
    before: ReadonlyMap<string, KnownOperation>,
    after: ReadonlyMap<string, KnownOperation>,
  ): OpenAPIServiceChange {
    const change: OpenAPIServiceChange = { added: [], changed: [], removed: [], hashes: {} };
    for (const [id, known] of after) {
      const old = before.get(id);
      const operation = this.#offer(id, known);
      if (old === undefined) change.added.push(operation);
      else if (old.hash !== known.hash || old.operation.version !== known.operation.version) {
        change.changed.push(operation);
      } else continue;
      change.hashes[id] = { before: old?.hash, after: known.hash };
    }
    for (const [id, { hash }] of before) {
      if (after.has(id)) continue;
      change.removed.push(id);
      change.hashes[id] = { before: hash };
    }
    return change;
  }

  /** Operations that were never approved are listed as well, so that an operator can see what waits for approval. */
  #offer(id: string, known: KnownOperation): ImportedOperation {
    return this.#pins.offer(id, known) ?? this.#pins.refuse(known.operation);
  }

  #schedule(): void {
    this.#timer?.stop();
    if (this.#isClosed || !this.#changes.hasListeners) return;
    const reload = () => {
      this.reload().catch((error: unknown) => {
        log.warn("{name}: the document could not be read again: {error}", { name: this.name, error });
      });
    };
    // A pending refresh must not keep the process alive.
    this.#timer = startTimer(reload, this.#refresh, { keepsAlive: false });
  }
}

/**
 * A SHA-256 over everything about an operation that a caller or reviewer relies on: its address, method, schemas and
 * descriptions. The version of the document is not part of it. Converts the operation's schemas.
 */
function hashOperation(operation: ImportedOperation): Promise<string> {
  const { type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta } = operation;
  return hashJSON({ type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta });
}

/**
 * Holds imported HTTP services and is one source of all their operations: follow it with `registry.follow(services)`, and
 * services that are added, removed or change later are applied. Each service is a source of its own as well.
 */
export class OpenAPIServiceRegistry implements OperationSource {
  readonly name = "openapi";
  readonly #services = new Map<string, { service: OpenAPIService; unsubscribe: Unsubscribe }>();
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener to OpenAPI services failed: {error}", { error }),
  );

  /** Adds a service and reads its document. Nothing is added when that fails, or when the namespace is taken. */
  async add(options: OpenAPIServiceOptions): Promise<OpenAPIService> {
    const { namespace } = options;
    this.#assertFree(namespace);
    const service = new OpenAPIService(options);
    await service.load();
    // Another one may have been added while this one was read.
    this.#assertFree(namespace);
    const unsubscribe = service.onChange((change) => this.#changes.emit(change));
    this.#services.set(namespace, { service, unsubscribe });
    this.#changes.emit({ added: service.operations(), changed: [], removed: [] });
    return service;
  }

  /** Closes a service and removes its operations. `false` when there is no service with that namespace. */
  async remove(namespace: string): Promise<boolean> {
    const held = this.#services.get(namespace);
    if (held === undefined) return false;
    this.#services.delete(namespace);
    held.unsubscribe();
    await held.service.close();
    this.#changes.emit({ added: [], changed: [], removed: Object.keys(held.service.hashes()) });
    return true;
  }

  /** The service with a namespace. */
  get(namespace: string): OpenAPIService | undefined {
    return this.#services.get(namespace)?.service;
  }

  /** Namespaces of the services, in the order they were added. */
  list(): string[] {
    return [...this.#services.keys()];
  }

  /** The operations of all services as they are known. */
  async load(): Promise<IOperationDefinition[]> {
    return [...this.#services.values()].flatMap(({ service }) => service.operations());
  }

  /** Emits every change from now on: services that are added or removed, and documents that change. */
  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  /** Closes every service. */
  async close(): Promise<void> {
    const held = [...this.#services.values()];
    this.#services.clear();
    for (const { unsubscribe } of held) unsubscribe();
    await Promise.all(held.map(({ service }) => service.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertFree(namespace: string): void {
    if (this.#services.has(namespace)) throw badConfig(`There is already a service with the namespace "${namespace}".`);
  }
}

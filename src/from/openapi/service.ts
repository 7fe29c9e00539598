import { startTimer, type Timer } from "../../internal/timers.ts";
import { CallError, type IOperationDefinition, resolveDuration } from "../../operation/index.ts";
import type { OperationSource, SourceChange, Unsubscribe } from "../source.ts";
import { assertNumbers } from "./assert-numbers.ts";
import type { HTTPServiceConfig } from "./config.ts";
import { fingerprint } from "./fingerprint.ts";
import { FromOpenAPI, FromOpenAPIFile, FromOpenAPIUrl, locate, type OpenAPIFS } from "./from-openapi.ts";
import type { ImportedOperation } from "./operation.ts";
import { logger } from "./report.ts";
import type { OpenAPISpec } from "./spec.ts";

/** A service to follow: its configuration, and where its document is. */
export interface OpenAPIServiceOptions extends HTTPServiceConfig {
  /** The document itself, its URL, or its file. `spec` may be a function, which is asked at every load. */
  spec?: OpenAPISpec | (() => OpenAPISpec | Promise<OpenAPISpec>);
  url?: string;
  file?: string;
  /** For `file`. @default Node's file system */
  fs?: OpenAPIFS;
  /** Reads the document again this often, in ms, above 0, while there is a listener; `Infinity` never. @default never */
  refresh?: number;
  /**
   * Switches off operations that are not what they were: those of the first load with `true`, else those whose hash
   * (see {@link OpenAPIService.hashes}) stands here. They fail with `UNAVAILABLE` until they are approved.
   */
  pinned?: boolean | Record<string, string>;
}

/** What became of a service's operations, with the hash of each before and after. */
export interface OpenAPIServiceChange extends SourceChange {
  hashes: Record<string, { before?: string; after?: string }>;
}

interface Known {
  operation: ImportedOperation;
  hash: string;
}

/** One imported service as a source that can be read again. */
export class OpenAPIService implements OperationSource {
  readonly name: string;
  readonly #options: OpenAPIServiceOptions;
  // Kept, because operations of all loads share its limits on concurrency and retries.
  readonly #config: HTTPServiceConfig;
  readonly #listeners = new Set<(change: OpenAPIServiceChange) => void>();
  #known = new Map<string, Known>();
  #pins: Map<string, string> | undefined;
  readonly #refresh: number;
  #timer: Timer | undefined;
  #reading: Promise<OpenAPIServiceChange> | undefined;
  #loaded = false;
  #closed = false;

  constructor(options: OpenAPIServiceOptions) {
    const { spec, url, file, fs, refresh, pinned, ...config } = options;
    assertNumbers(config);
    this.#refresh = resolveDuration("refresh", refresh, Number.POSITIVE_INFINITY, { infinite: true });
    this.#options = options;
    this.#config = locate(config, options);
    this.name = `openapi:${options.namespace}`;
    if (typeof options.pinned === "object") this.#pins = new Map(Object.entries(options.pinned));
  }

  /** Reads the document and returns its operations. What changed since an earlier load is also told to listeners. */
  async load(options: { signal?: AbortSignal } = {}): Promise<IOperationDefinition[]> {
    await this.reload(options);
    return this.operations();
  }

  /** The operations of the last load; pinned ones that changed are there, but fail. */
  operations(): ImportedOperation[] {
    return [...this.#known].map(([id, known]) => this.#guarded(id, known));
  }

  /** Hash of each operation as it is now, for `pinned` in a later run. */
  hashes(): Record<string, string> {
    return Object.fromEntries([...this.#known].map(([id, { hash }]) => [id, hash]));
  }

  /** Reads the document again and tells what changed. Rejects, changing nothing, when it cannot be read. */
  reload(options: { signal?: AbortSignal } = {}): Promise<OpenAPIServiceChange> {
    if (this.#closed) return Promise.reject(new CallError("UNAVAILABLE", `${this.name} is closed.`));
    this.#reading ??= this.#reload(options).finally(() => {
      this.#reading = undefined;
      this.#schedule();
    });
    return this.#reading;
  }

  /** Accepts operations as they are now, all or by id, and switches them on again. */
  approve(...ids: string[]): void {
    const approved = ids.length > 0 ? ids : [...this.#known.keys()];
    const before = new Set(approved.filter((id) => this.#isBlocked(id)));
    for (const id of approved) if (this.#known.has(id)) this.#pins?.set(id, this.#known.get(id)!.hash);
    const changed = this.operations().filter(({ namespace, name }) => before.has(`${namespace}.${name}`));
    if (changed.length > 0) this.#tell({ added: [], changed, removed: [], hashes: {} });
  }

  onChange(listener: (change: OpenAPIServiceChange) => void): Unsubscribe {
    this.#listeners.add(listener);
    this.#schedule();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#timer?.stop();
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#timer?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #reload(options: { signal?: AbortSignal }): Promise<OpenAPIServiceChange> {
    const before = this.#known;
    const read = new Map<string, Known>();
    for (const operation of await this.#read(options)) {
      read.set(`${operation.namespace}.${operation.name}`, { operation, hash: await fingerprint(operation) });
    }
    const isFirst = !this.#loaded;
    this.#known = read;
    this.#loaded = true;
    if (this.#options.pinned === true && this.#pins === undefined) {
      this.#pins = new Map([...read].map(([id, { hash }]) => [id, hash]));
    }
    const change = this.#compare(before, read);
    if (!isFirst && change.added.length + change.changed.length + change.removed.length > 0) this.#tell(change);
    return change;
  }

  #read(options: { signal?: AbortSignal }): Promise<ImportedOperation[]> | ImportedOperation[] {
    const { spec, url, file, fs } = this.#options;
    const config = this.#config;
    if (url !== undefined) return FromOpenAPIUrl(url, config, options);
    if (file !== undefined) return FromOpenAPIFile(file, config, fs);
    if (typeof spec === "function") return Promise.resolve(spec()).then((document) => FromOpenAPI(document, config));
    if (spec !== undefined) return FromOpenAPI(spec, config);
    throw new CallError("VALIDATION_ERROR", `${this.name} needs one of spec, url and file.`, undefined, {
      mayHaveRun: false,
    });
  }

  #compare(before: Map<string, Known>, after: Map<string, Known>): OpenAPIServiceChange {
    const change: OpenAPIServiceChange = { added: [], changed: [], removed: [], hashes: {} };
    for (const [id, known] of after) {
      const old = before.get(id);
      if (old === undefined) change.added.push(this.#guarded(id, known));
      else if (old.hash !== known.hash || old.operation.version !== known.operation.version) {
        change.changed.push(this.#guarded(id, known));
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

  #isBlocked(id: string): boolean {
    return this.#pins !== undefined && this.#pins.get(id) !== this.#known.get(id)?.hash;
  }

  #guarded(id: string, { operation }: Known): ImportedOperation {
    if (!this.#isBlocked(id)) return operation;
    const message = `"${id}" is new or changed in the document of ${this.name}. Look at it, then approve("${id}") to use it again.`;
    const refuse = () => {
      throw new CallError("UNAVAILABLE", message, undefined, { mayHaveRun: false });
    };
    const guarded = { handler: refuse, nextPage: undefined };
    // Copied with its getters: schemas stay unconverted until they are read.
    return Object.defineProperties(
      { ...guarded },
      {
        ...Object.getOwnPropertyDescriptors(operation),
        ...Object.getOwnPropertyDescriptors(guarded),
      },
    ) as unknown as ImportedOperation;
  }

  #tell(change: OpenAPIServiceChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  #schedule(): void {
    this.#timer?.stop();
    if (this.#closed || this.#listeners.size === 0) return;
    const reload = () => {
      this.reload().catch((error: unknown) => {
        logger.warn("{name}: the document could not be read again: {error}", { name: this.name, error });
      });
    };
    // Waiting for the next look must not keep the process alive.
    this.#timer = startTimer(reload, this.#refresh, { keepsAlive: false });
  }
}

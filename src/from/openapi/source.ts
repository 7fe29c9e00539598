import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { isObject } from "../../internal/objects.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { onAbort } from "../../internal/wait.ts";
import { CallError, formatOperationId, type IOperationDefinition, resolveDuration } from "../../operation/inside.ts";
import { type HeldOperation, hashJSON, type PinnableOperation, Pins } from "../pins.ts";
import {
  compareOperations,
  isEmptyChange,
  type OperationSource,
  type SourceChange,
  type SourceLoadOptions,
  type SourceReport,
  type SourceTraits,
  type Unsubscribe,
} from "../source.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPISpec } from "./document.ts";
import { badConfig } from "./errors.ts";
import { importFile, importURL, locate, type OpenAPIFS } from "./from-openapi.ts";
import { type ImportOptions, importDocument, type OpenAPIImport } from "./import-openapi.ts";
import type { ImportedOperation } from "./operation.ts";
import { assertSettings } from "./service-state.ts";

const log = logger("from", "openapi");

/** Configuration of {@link openAPISource}: the configuration of the service, and when to read the document again. */
export interface OpenAPISourceConfig extends HTTPServiceConfig, OpenAPISourceOptions {}

/** Configuration of {@link openAPISource} for a server of this package, whose operations are restored as they are there. */
export interface TrustedSourceConfig extends Omit<HTTPServiceConfig, "namespace">, OpenAPISourceOptions {
  /**
   * `"operations"` trusts the server that the document comes from, or `baseUrl`, to be a server of this package. The
   * operations have the specs, results and errors of that server, and their own namespaces. Access rules are never taken
   * from the document: set `accessControl`.
   */
  trust: "operations";
  /** Namespace of all operations. @default the one that each operation has */
  namespace?: string;
}

/** Settings of a source that reads an OpenAPI document. */
export interface OpenAPISourceOptions {
  /** Reads files. @default Node's file system */
  fs?: OpenAPIFS;
  /**
   * Interval at which the document is read again while it is followed, in ms, above 0. `Infinity` disables it. @default
   * disabled
   */
  refresh?: number;
  /**
   * Blocks operations that differ from their approved version. `true` approves the operations of the first load; a
   * record contains the approved hash of each operation by id (see {@link OpenAPISource.hashes}). Blocked operations
   * fail with `UNAVAILABLE` until they are approved.
   */
  pinned?: boolean | Record<string, string>;
}

/** The changes of a service's operations, with their hashes before and after. */
export interface OpenAPIChange extends SourceChange {
  /** Hashes by operation id. `before` is absent for an added operation, `after` for a removed one. */
  hashes: Record<string, { before?: string; after?: string }>;
}

/** An operation whose `hash` is empty until it is needed. */
type KnownOperation = PinnableOperation<ImportedOperation> & { hash: string };

/**
 * Creates a source with the operations of an HTTP service, for `registry.follow()`.
 * @param document - URL, path or `file:` URL of a document in JSON or YAML, or the document itself; a function is
 * called at every load
 * @example
 * await registry.follow(openAPISource("https://api.example.com/openapi.json", { namespace: "shop" }));
 */
export function openAPISource(
  document: string | URL | OpenAPISpec | (() => OpenAPISpec | Promise<OpenAPISpec>),
  config: OpenAPISourceConfig | TrustedSourceConfig,
): OpenAPISource {
  return new OpenAPISource(document, config);
}

/** An imported service as a source that can be reloaded. Created by {@link openAPISource}. */
export class OpenAPISource implements OperationSource, AsyncDisposable {
  /** `openapi:` and the namespace. */
  readonly name: string;
  /** Imported operations have the access rules of the configuration. */
  readonly traits: SourceTraits;
  readonly #read: (options: ReadOptions) => Promise<OpenAPIImport>;
  // One object for all loads, because their operations share its limits on concurrency and retries.
  readonly #config: HTTPServiceConfig;
  readonly #changes = new Emitter<OpenAPIChange>((error) =>
    log.error("A listener for changes of {name} failed: {error}", { name: this.name, error }),
  );
  readonly #pins: Pins<ImportedOperation>;
  readonly #refresh: number;
  #known = new Map<string, KnownOperation>();
  #onReport: HTTPServiceConfig["onReport"];
  #report: SourceReport | undefined;
  #timer: Timer | undefined;
  #reading: Promise<OpenAPIChange> | undefined;
  /** Aborts the current reading. */
  #readingController = new AbortController();
  #isLoaded = false;
  #isClosed = false;

  constructor(document: Parameters<typeof openAPISource>[0], options: OpenAPISourceConfig | TrustedSourceConfig) {
    if (!isObject(options)) {
      const advice = 'Pass openAPISource() a namespace: openAPISource(document, { namespace: "shop" }).';
      throw badConfig(`The configuration is missing. ${advice}`);
    }
    const { fs, refresh, pinned, trust, ...given } = { trust: undefined, ...options };
    if (trust !== undefined && trust !== "operations") throw badConfig('trust must be "operations", or be omitted.');
    const trusted = trust && { namespace: given.namespace };
    const place = toPlace(document);
    this.traits = { replacesAccess: true, ...(trust !== undefined && { foreignIds: true }) };
    const config = { ...given, namespace: given.namespace ?? (trust ? hostOf(place, given) : undefined!) };
    assertSettings(config);
    this.#config = locate(config, place);
    this.#read = (delivery) => readPlace(place, this.#config, { fs, trusted, ...delivery });
    this.#refresh = resolveDuration("refresh", refresh, Number.POSITIVE_INFINITY, { infinite: true });
    this.#pins = new Pins(pinned);
    this.#onReport = config.onReport;
    this.name = `openapi:${config.namespace}`;
  }

  /** Reads the document and returns its operations. Listeners receive the changes since an earlier load. */
  async load({ signal, onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    this.#onReport ??= onReport;
    await this.reload({ signal });
    return this.operations();
  }

  /** Returns the operations of the last load. Pinned operations that are not approved are included, but fail. */
  operations(): ImportedOperation[] {
    return Array.from(this.#known, ([id, known]) => this.#offer(id, known));
  }

  /** Returns the current hash of each operation, for `pinned` in a later run. */
  async hashes(): Promise<Record<string, string>> {
    const known = this.#known;
    await addHashes(known);
    return Object.fromEntries(Array.from(known, ([id, { hash }]) => [id, hash]));
  }

  /** Reads the document again and returns the changes. If the document cannot be read, rejects and changes nothing. */
  reload(options: { signal?: AbortSignal | undefined } = {}): Promise<OpenAPIChange> {
    if (this.#isClosed) return Promise.reject(this.#closed());
    const stop =
      this.#reading === undefined
        ? onAbort(options.signal, (reason) => this.#readingController.abort(reason))
        : undefined;
    this.#reading ??= this.#reload(this.#readingController.signal).finally(() => {
      stop?.();
      this.#readingController = new AbortController();
      this.#reading = undefined;
      this.#schedule();
    });
    return this.#reading;
  }

  /** Pinned operations that are waiting for approval. */
  get held(): HeldOperation[] {
    return this.#pins.held(this.#known);
  }

  /**
   * Approves the current version of pinned operations, which can then be called. Without ids, approves all. An unknown id is
   * a `VALIDATION_ERROR`.
   */
  approve(...ids: string[]): void {
    const waiting = this.held;
    this.#pins.approve(ids, this.#known, this.name);
    const changed = waiting
      .map(({ operationId }) => ({ id: operationId, known: this.#known.get(operationId)! }))
      .filter(({ id, known }) => this.#pins.isApproved(id, known.hash))
      .map(({ id, known }) => this.#offer(id, known));
    if (changed.length > 0 && !this.#isClosed) this.#changes.emit({ added: [], changed, removed: [], hashes: {} });
  }

  onChange(listener: (change: OpenAPIChange) => void): Unsubscribe {
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
    this.#readingController.abort(this.#closed());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #closed(): CallError {
    return new CallError("UNAVAILABLE", `The source ${this.name} is closed.`);
  }

  async #reload(signal: AbortSignal): Promise<OpenAPIChange> {
    const read = await this.#read({ signal, onReport: this.#onReport, previous: this.#report });
    const before = this.#known;
    const after = new Map<string, KnownOperation>();
    for (const operation of read.operations) {
      const id = formatOperationId(operation.namespace, operation.name);
      after.set(id, { operation, hash: "" });
    }
    const isFirst = !this.#isLoaded;
    // Compute hashes only if they are needed: they convert all schemas, which otherwise happens on the first call.
    if (!isFirst || this.#pins.isOn) await addHashes(before).then(() => addHashes(after));
    this.#known = after;
    this.#report = read.report;
    this.#isLoaded = true;
    this.#pins.approveFirst(after);
    const change = this.#compare(before, after);
    if (!isFirst && !isEmptyChange(change) && !this.#isClosed) this.#changes.emit(change);
    return change;
  }

  #compare(before: ReadonlyMap<string, KnownOperation>, after: ReadonlyMap<string, KnownOperation>): OpenAPIChange {
    const change = compareOperations(before, after, {
      isSame: (old, now) => old.hash === now.hash && old.operation.version === now.operation.version,
      toDefinition: (known, id) => this.#offer(id, known),
    });
    const hashes: OpenAPIChange["hashes"] = {};
    const changed = [...change.added, ...change.changed].map(({ namespace, name }) =>
      formatOperationId(namespace, name),
    );
    for (const id of [...changed, ...change.removed]) {
      const [old, now] = [before.get(id), after.get(id)];
      hashes[id] = { ...(old && { before: old.hash }), ...(now && { after: now.hash }) };
    }
    return { ...change, hashes };
  }

  /**
   * Returns the operation to list. Operations that were never approved are listed too, so that an operator can review
   * them.
   */
  #offer(id: string, known: KnownOperation): ImportedOperation {
    return this.#pins.offer(id, known) ?? this.#pins.refuse(known.operation);
  }

  #schedule(): void {
    this.#timer?.stop();
    if (this.#isClosed || !this.#changes.hasListeners) return;
    const reload = () => {
      this.reload().catch((error: unknown) => {
        if (this.#isClosed) return;
        log.warn("The document of {name} could not be read again: {error}", { name: this.name, error });
      });
    };
    // A pending refresh must not keep the process alive.
    this.#timer = startTimer(reload, this.#refresh, { keepsAlive: false });
  }
}

async function addHashes(known: Map<string, KnownOperation>): Promise<void> {
  for (const item of known.values()) if (item.hash === "") item.hash = await hashOperation(item.operation);
}

/**
 * Returns the SHA-256 of the parts of an operation that callers and reviewers rely on: its URL, method, schemas and
 * descriptions, but not the version of the document. Converts the operation's schemas.
 */
function hashOperation(operation: ImportedOperation): Promise<string> {
  const { type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta } = operation;
  return hashJSON({ type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta });
}

/** Location of a document. Exactly one property is set. */
interface Place {
  url?: string;
  file?: string;
  spec?: OpenAPISpec | (() => OpenAPISpec | Promise<OpenAPISpec>);
}

/** Returns a name for a trusted server in messages: its host, as a valid namespace. */
function hostOf({ url }: Place, { baseUrl, documentUrl }: Pick<HTTPServiceConfig, "baseUrl" | "documentUrl">): string {
  const place = baseUrl ?? documentUrl ?? url ?? "";
  const host = URL.canParse(place) ? new URL(place).host : "";
  return host.replaceAll(".", "-").slice(0, 64) || "operations";
}

function toPlace(document: Parameters<typeof openAPISource>[0]): Place {
  if (typeof document === "string" && !/^(?:https?|file):/i.test(document)) {
    if (!/^\w[\w+.-]+:\/\//.test(document)) return { file: document };
    throw badConfig("The URL of an OpenAPI document must begin with http://, https:// or file://.");
  }
  if (typeof document === "string" || document instanceof URL) {
    const url = String(document);
    if (!/^file:/i.test(url) || !URL.canParse(url)) return { url };
    // In a URL, the path of a Windows drive begins with a slash.
    return { file: decodeURIComponent(new URL(url).pathname).replace(/^\/(?=[A-Za-z]:)/, "") };
  }
  if (typeof document === "function" || (typeof document === "object" && document !== null)) return { spec: document };
  throw badConfig(
    "The document is invalid. Pass openAPISource() the URL or path of an OpenAPI document, or the document itself.",
  );
}

type ReadOptions = ImportOptions & { fs?: OpenAPIFS | undefined; signal?: AbortSignal | undefined };

async function readPlace(
  { url, file, spec }: Place,
  config: HTTPServiceConfig,
  options: ReadOptions,
): Promise<OpenAPIImport> {
  if (url !== undefined) return importURL(url, config, options);
  if (file !== undefined) return importFile(file, config, options);
  return importDocument(typeof spec === "function" ? await spec() : spec, config, options);
}

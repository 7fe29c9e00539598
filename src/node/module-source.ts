import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type ScannerFS, type ScanOptions, scanOperations } from "../from/modules/index.ts";
import { ReportBuilder } from "../from/report.ts";
import {
  compareOperations,
  isEmptyChange,
  type OperationSource,
  type SourceChange,
  type SourceLoadOptions,
  type SourceReport,
  type Unsubscribe,
} from "../from/source.ts";
import { Emitter } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import { describeValue, toReason } from "../internal/text.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { waitFor } from "../internal/wait.ts";
import { formatOperationId, type IOperationDefinition, mapError } from "../operation/inside.ts";
import { loadModule, nodeFileSystem } from "./load-module.ts";

const log = logger("node");

/** Delay between the first change and the next read of the directory, in ms. Editors write a file in several steps. */
const settleMs = 50;
/** Delay between attempts to read a directory that cannot be read, in ms. */
const retryMs = 1_000;

/** Options of {@link moduleSource}. */
export interface ModuleSourceOptions extends ScanOptions {
  /**
   * Reloads modules when they change, or when files change that they import by a relative path. A module that can no
   * longer be loaded is reported, and its last version stays registered. @default false
   */
  watch?: boolean;
}

/**
 * Creates a source with the operations in the default exports of the modules below a directory, for
 * `registry.follow()`. Modules are loaded as by `scanOperations`. Operations without a handler are skipped and
 * reported. Watching does not keep the process alive.
 * @example
 * await registry.follow(moduleSource(new URL("operations", import.meta.url), { watch: true }));
 */
export function moduleSource(
  directory: string | URL,
  options: ModuleSourceOptions = {},
): OperationSource & AsyncDisposable {
  if (typeof directory !== "string" && !(directory instanceof URL)) {
    throw new TypeError(`moduleSource() takes the path or URL of a folder, not ${describeValue(directory)}.`);
  }
  return new ModuleSource(directory instanceof URL ? fileURLToPath(directory) : directory, options);
}

class ModuleSource implements OperationSource, AsyncDisposable {
  readonly name: string;
  readonly #directory: string;
  readonly #options: ModuleSourceOptions;
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener for changes of {name} failed: {error}", { name: this.name, error }),
  );
  readonly #watchers: DirectoryWatchers;
  #operations: ReadonlyMap<string, IOperationDefinition> = new Map();
  /** Exports of each module when it was last loaded, by URL. */
  #modules: ReadonlyMap<string, unknown> = new Map();
  #onReport: ScanOptions["onReport"];
  #report: SourceReport | undefined;
  /** The reason why the directory currently cannot be read. */
  #failure: SourceReport | undefined;
  #reading: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #isClosed = false;

  readonly traits = { definesRoutes: true };

  constructor(directory: string, options: ModuleSourceOptions) {
    this.name = `modules:${directory}`;
    this.#directory = resolve(directory);
    this.#options = options;
    this.#onReport = options.onReport;
    this.#watchers = new DirectoryWatchers(() => this.#readSoon(settleMs));
  }

  async load({ signal, onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    this.#onReport ??= onReport;
    try {
      // Loading a module can take any time, because its code may wait for a connection.
      await waitFor(this.#read(), signal === undefined ? {} : { signal }, () => signal?.reason);
      signal?.throwIfAborted();
    } catch (error) {
      const stopWatching = () => {
        this.#timer?.stop();
        this.#watchers.keepOnly(new Set());
      };
      stopWatching();
      this.#reading.then(stopWatching, stopWatching); // the read may continue, and add watchers
      throw error;
    }
    return [...this.#operations.values()];
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.stop();
    this.#watchers.close(); // Do not wait for a module that is being loaded, because that cannot be stopped.
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reads the directory after earlier reads have ended. */
  #read(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#scan());
    return this.#reading;
  }

  /** Reads the directory after a delay, because further changes may follow. Further changes do not extend the delay. */
  #readSoon(delay: number): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const read = () => {
      this.#timer = undefined;
      this.#read().catch((error: unknown) => {
        if (!this.#isClosed) this.#reportFailure(error);
        this.#readSoon(retryMs);
      });
    };
    this.#timer = startTimer(read, delay, { keepsAlive: false });
  }

  /** Reports that the directory cannot be read. Reports the same reason only once until a read succeeds. */
  #reportFailure(error: unknown): void {
    const report = new ReportBuilder();
    report.warn(".", `${toReason(mapError(error))}. Its operations stay, and it is read again.`);
    const isKnown = JSON.stringify(this.#failure) === JSON.stringify(report.report);
    this.#failure = report.report;
    if (!isKnown) report.deliver({ source: this.#directory, onReport: this.#onReport, log });
  }

  async #scan(): Promise<void> {
    if (this.#isClosed) return;
    const { limits, watch: isWatching } = this.#options;
    const watchers = isWatching ? this.#watchers : undefined;
    const scan = new WatchedScan(this.#directory, this.#modules, watchers, () => this.#isClosed);
    const found = await scanOperations(this.#directory, scan, {
      limits,
      onReport: (report) => scan.report.include(report),
    });
    if (this.#isClosed) return;
    this.#failure = undefined;
    const operations = new Map<string, IOperationDefinition>();
    for (const manifest of found) {
      const id = formatOperationId(manifest.namespace, manifest.name);
      if (manifest.handler !== undefined) operations.set(id, manifest as IOperationDefinition);
      else
        scan.report.skipped(id, "It has no handler. Load it with scanOperations(), and register its spec and handler.");
    }
    for (const id of operations.keys()) scan.report.imported(id);
    const change = compareOperations(this.#operations, operations, {
      isSame: (before, after) => before === after,
      toDefinition: (operation) => operation,
    });
    const previous = this.#report;
    this.#operations = operations;
    this.#modules = scan.modules;
    this.#report = scan.report.report;
    this.#watchers.keepOnly(scan.directories);
    if (previous === undefined || !isEmptyChange(change) || JSON.stringify(previous) !== JSON.stringify(this.#report)) {
      scan.report.deliver({ source: this.#directory, onReport: this.#onReport, log, previous });
    }
    const isFirst = previous === undefined;
    if (!isFirst && !isEmptyChange(change)) this.#changes.emit(change);
  }
}

/**
 * The file system of one scan. It watches the directories that it reads, and falls back to the last version of a module
 * that cannot be loaded.
 */
class WatchedScan implements ScannerFS {
  readonly report = new ReportBuilder();
  /** The exports of each module, by URL. */
  readonly modules = new Map<string, unknown>();
  /** Directories that were read and are watched. */
  readonly directories = new Set<string>();
  readonly #root: string;
  readonly #earlier: ReadonlyMap<string, unknown>;
  readonly #watchers: DirectoryWatchers | undefined;
  readonly #isStopped: () => boolean;

  constructor(
    root: string,
    earlier: ReadonlyMap<string, unknown>,
    watchers: DirectoryWatchers | undefined,
    isStopped: () => boolean,
  ) {
    this.#root = root;
    this.#earlier = earlier;
    this.#watchers = watchers;
    this.#isStopped = isStopped;
  }

  cwd(): string {
    return nodeFileSystem.cwd();
  }

  readdir(path: string): ReturnType<ScannerFS["readdir"]> {
    this.#watch(path); // Watch before reading, so that no change is missed.
    return nodeFileSystem.readdir(path);
  }

  async import(url: string): Promise<unknown> {
    if (this.#isStopped()) throw new Error("The source is closed."); // loading a module runs it
    const exports = await this.#load(url, this.#earlier.get(url));
    this.modules.set(url, exports);
    return exports;
  }

  async #load(url: string, earlier: unknown): Promise<unknown> {
    const path = fileURLToPath(url);
    try {
      const exports = await loadModule(url, (file) => this.#watch(dirname(fileURLToPath(file))));
      // A file can be empty while a program writes it.
      return earlier !== undefined && (await stat(path)).size === 0 ? earlier : exports;
    } catch (error) {
      if (earlier === undefined) throw error;
      const where = relative(this.#root, path).split(sep).join("/");
      this.report.warn(
        where,
        `It cannot be imported, and its last version stays registered: ${mapError(error).message}`,
      );
      return earlier;
    }
  }

  #watch(path: string): void {
    if (this.#watchers === undefined || this.directories.has(path)) return;
    this.directories.add(path);
    const problem = this.#watchers.add(path);
    if (problem !== undefined) this.report.warn(path, `it cannot be watched for changes: ${problem}`);
  }
}

/**
 * Watches directories one by one, because a recursive watcher misses changes on some versions of Node. Watching does
 * not keep the process alive.
 */
class DirectoryWatchers {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onChange: () => void;
  #isClosed = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches a directory. Returns the reason if it cannot be watched. A missing directory is not a problem. */
  add(path: string): string | undefined {
    if (this.#isClosed || this.#watchers.has(path)) return undefined;
    try {
      const watcher = watch(path, { persistent: false }, (event, name) => {
        // A directory that was replaced needs a new watcher, which the next scan adds.
        if (event === "rename" && name === basename(path)) this.#remove(path);
        if (event === "rename" && name !== null) this.#remove(join(path, name));
        this.#onChange();
      });
      watcher.on("error", () => {
        this.#remove(path);
        this.#onChange();
      });
      this.#watchers.set(path, watcher);
      return undefined;
    } catch (error) {
      return (error as { code?: unknown }).code === "ENOENT" ? undefined : mapError(error).message;
    }
  }

  /** Stops watching all other directories. */
  keepOnly(paths: ReadonlySet<string>): void {
    for (const path of [...this.#watchers.keys()]) if (!paths.has(path)) this.#remove(path);
  }

  /** Stops watching permanently. */
  close(): void {
    this.#isClosed = true;
    this.keepOnly(new Set());
  }

  #remove(path: string): void {
    this.#watchers.get(path)?.close();
    this.#watchers.delete(path);
  }
}

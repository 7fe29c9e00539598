import { stat } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FSWatcher } from "chokidar";
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
import { createLoad, nodeFileSystem } from "./load-module.ts";

const log = logger("node");

/** Delay between the first change and the next read of the folder, in ms. Editors write a file in several steps. */
const settleMs = 50;
/** Delay between attempts to read a folder that cannot be read, in ms. */
const retryMs = 1_000;

/** Options of {@link moduleSource}. */
export interface ModuleSourceOptions extends ScanOptions {
  /**
   * Reloads modules when files in the folder change. A module that can no longer be loaded is reported, and its last
   * version stays registered. @default false
   */
  watch?: boolean;
}

/** The operations that the modules of a folder export. */
export interface ModuleOperationSource extends OperationSource, AsyncDisposable {
  /** Loads the modules whose files have changed since they were loaded, and emits the changes of their operations. */
  reload(): Promise<void>;
}

/**
 * Creates a source with the operations in the default exports of the modules below a directory, for
 * `registry.follow()`. Modules are loaded as by `scanOperations`. Operations without a handler are skipped and
 * reported. Watching does not keep the process alive.
 * @example
 * await registry.follow(moduleSource(new URL("operations", import.meta.url), { watch: true }));
 */
export function moduleSource(directory: string | URL, options: ModuleSourceOptions = {}): ModuleOperationSource {
  if (typeof directory !== "string" && !(directory instanceof URL)) {
    throw new TypeError(`moduleSource() takes the path or URL of a folder, not ${describeValue(directory)}.`);
  }
  return new ModuleSource(directory instanceof URL ? fileURLToPath(directory) : directory, options);
}

/** A module that was loaded, and the time and size of its file. */
interface LoadedModule {
  readonly version: string;
  /** The time and size of its file when it was last read. They differ from `version` if it could not be loaded then. */
  readonly read: string;
  /** Absent if the module could not be loaded. */
  readonly exports?: unknown;
}

class ModuleSource implements ModuleOperationSource {
  readonly name: string;
  readonly traits = { definesRoutes: true };
  readonly #directory: string;
  readonly #options: ModuleSourceOptions;
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener for changes of {name} failed: {error}", { name: this.name, error }),
  );
  #operations: ReadonlyMap<string, IOperationDefinition> = new Map();
  /** By URL. */
  #modules: ReadonlyMap<string, LoadedModule> = new Map();
  #onReport: ScanOptions["onReport"];
  #report: SourceReport | undefined;
  /** The reason why the folder currently cannot be read. */
  #failure: SourceReport | undefined;
  #reading: Promise<void> = Promise.resolve();
  #watcher: FSWatcher | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(directory: string, options: ModuleSourceOptions) {
    this.name = `modules:${directory}`;
    this.#directory = resolve(directory);
    this.#options = options;
    this.#onReport = options.onReport;
  }

  async load({ signal, onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    this.#onReport ??= onReport;
    try {
      // Loading a module can take any time, because its code may wait for a connection.
      await waitFor(this.#read(), signal === undefined ? {} : { signal }, () => signal?.reason);
      signal?.throwIfAborted();
      if (this.#options.watch) await this.#watch();
    } catch (error) {
      await this.#stopWatching();
      throw error;
    }
    return [...this.#operations.values()];
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  reload(): Promise<void> {
    return this.#read();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stopWatching(); // Do not wait for a module that is being loaded, because that cannot be stopped.
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #watch(): Promise<void> {
    if (this.#watcher !== undefined || this.#isClosed) return;
    const { watch } = await import("chokidar");
    if (this.#watcher !== undefined || this.#isClosed) return;
    const isIgnored = (path: string) => /(?:^|[\\/])(?:\.[^\\/]|node_modules$)/.test(relative(this.#directory, path));
    const watcher = watch(this.#directory, { persistent: false, followSymlinks: false, ignored: isIgnored });
    this.#watcher = watcher;
    watcher.on("all", () => this.#readSoon(settleMs)); // also for files that it finds when it starts
    watcher.on("error", (error) => log.warn("{name} cannot be watched: {error}", { name: this.name, error }));
    await new Promise<void>((resolve) => watcher.once("ready", resolve));
  }

  async #stopWatching(): Promise<void> {
    this.#timer?.stop();
    this.#timer = undefined;
    const watcher = this.#watcher;
    this.#watcher = undefined;
    watcher?.emit("ready"); // for a load that is waiting for it
    await watcher?.close();
  }

  /** Reads the folder after a delay, because further changes may follow. Further changes do not extend the delay. */
  #readSoon(delay: number): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const read = async () => {
      this.#timer = undefined;
      try {
        await this.#read();
        await this.#watch();
      } catch (error) {
        if (this.#isClosed) return;
        this.#reportFailure(error);
        await this.#stopWatching(); // A folder that is created again needs a new watcher.
        this.#readSoon(retryMs);
      }
    };
    this.#timer = startTimer(read, delay, { keepsAlive: false });
  }

  /** Reports that the folder cannot be read, and the same reason only once. */
  #reportFailure(error: unknown): void {
    const report = new ReportBuilder();
    report.warn(".", `${toReason(mapError(error))}. Its operations stay, and it is read again.`);
    const isKnown = JSON.stringify(this.#failure) === JSON.stringify(report.report);
    this.#failure = report.report;
    if (!isKnown) report.deliver({ source: this.#directory, onReport: this.#onReport, log });
  }

  /** Reads the folder after earlier reads have ended. */
  #read(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#scan());
    return this.#reading;
  }

  async #scan(): Promise<void> {
    if (this.#isClosed) return;
    const report = new ReportBuilder();
    const modules = new Map<string, LoadedModule>();
    const found = await scanOperations(this.#directory, await this.#toFileSystem(modules, report), {
      limits: this.#options.limits,
      onReport: (scanned) => report.include(scanned),
    });
    if (this.#isClosed) return;
    this.#failure = undefined;
    const operations = new Map<string, IOperationDefinition>();
    for (const manifest of found) {
      const id = formatOperationId(manifest.namespace, manifest.name);
      if (manifest.handler !== undefined) operations.set(id, manifest as IOperationDefinition);
      else report.skipped(id, "It has no handler. Load it with scanOperations(), and register its spec and handler.");
    }
    for (const id of operations.keys()) report.imported(id);
    await this.#readAgainIfChanging(modules);
    const change = compareOperations(this.#operations, operations, {
      isSame: (before, after) => before === after,
      toDefinition: (operation) => operation,
    });
    const previous = this.#report;
    this.#operations = operations;
    this.#modules = modules;
    this.#report = report.report;
    const isChanged = previous !== undefined && !isEmptyChange(change);
    if (isChanged || JSON.stringify(previous) !== JSON.stringify(this.#report)) {
      report.deliver({ source: this.#directory, onReport: this.#onReport, log, previous });
    }
    if (isChanged) this.#changes.emit(change);
  }

  /**
   * Reads the folder again if a file is empty that had operations, or has changed since it was read. The watcher reports
   * only the first of several writes that follow each other within milliseconds.
   */
  async #readAgainIfChanging(modules: ReadonlyMap<string, LoadedModule>): Promise<void> {
    if (this.#watcher === undefined) return;
    let delay: number | undefined;
    for (const [url, { read, exports }] of modules) {
      if (exports !== undefined && isEmptyVersion(read)) delay ??= retryMs;
      else if ((await readVersion(url)) !== read) delay = settleMs;
    }
    if (delay !== undefined) this.#readSoon(delay);
  }

  /** The file system of one scan. A module without changes is not loaded again. `modules` receives the others and these. */
  async #toFileSystem(modules: Map<string, LoadedModule>, report: ReportBuilder): Promise<ScannerFS> {
    const load = createLoad();
    const known = this.#modules;
    // Read once, before the modules are loaded, so that a change in the meantime is seen by the next scan.
    const versions = new Map<string, string>();
    for (const url of known.keys()) versions.set(url, await readVersion(url));
    // A module without operations is a helper, which any other module may import.
    const isHelperChanged = [...known].some(
      ([url, { version, exports }]) => version !== versions.get(url) && !isOperationModule(exports),
    );
    return {
      cwd: nodeFileSystem.cwd,
      readdir: nodeFileSystem.readdir,
      import: async (url) => {
        if (this.#isClosed) throw new Error("The source is closed."); // Loading a module runs it.
        const earlier = known.get(url);
        const version = versions.get(url) ?? (await readVersion(url));
        const isEmpty = isEmptyVersion(version); // It is probably being written.
        const isCurrent = earlier?.version === version && !isHelperChanged;
        if (earlier?.exports !== undefined && (isCurrent || isEmpty)) {
          modules.set(url, { ...earlier, version, read: version });
          return earlier.exports;
        }
        modules.set(url, { version, read: version });
        try {
          const exports = await load(url);
          modules.set(url, { version, read: version, exports });
          return exports;
        } catch (error) {
          if (earlier?.exports === undefined) throw error;
          modules.set(url, { exports: earlier.exports, version: "", read: version }); // It is tried again with every read.
          const where = relative(this.#directory, fileURLToPath(url)).split(sep).join("/");
          const reason = `It cannot be imported, and its last version stays registered: ${mapError(error).message}`;
          report.warn(where, reason);
          return earlier.exports;
        }
      },
    };
  }
}

function isOperationModule(exports: unknown): boolean {
  return typeof exports === "object" && exports !== null && "default" in exports;
}

function isEmptyVersion(version: string): boolean {
  return version.endsWith(" 0");
}

/** Identifies the version of a file by its time and size. */
async function readVersion(url: string): Promise<string> {
  const state = await stat(fileURLToPath(url)).catch(() => undefined);
  return state === undefined ? "" : `${state.mtimeMs} ${state.size}`;
}

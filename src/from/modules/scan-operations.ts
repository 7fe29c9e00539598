import { logger, warnVisibly } from "../../internal/log.ts";
import { quote, truncate } from "../../internal/text.ts";
import {
  assertValidSpec,
  formatOperationId,
  type IOperationDefinition,
  type Limits,
  mapError,
  type OperationSpec,
  resolveLimits,
} from "../../operation/index.ts";
import type { SourceReport } from "../source.ts";
import { findModules, type ModuleFile } from "./find-modules.ts";
import type { ScannerFS } from "./scanner-fs.ts";

/** One scanned operation: its spec, with the handler where the module gives one. */
export interface OperationManifest
  extends OperationSpec,
    Partial<Pick<IOperationDefinition, "handler" | "fillDefaults" | "nextPage">> {}

/** How `scanOperations` reports and where it stops. */
export interface ScanOptions {
  /** Hears what was taken and what was left out, and why. Without it, each item left out is a warning in the log, and on the console until LogTape is configured. */
  onReport?: (report: SourceReport) => void;
  /** `operations` bounds how many are taken. */
  limits?: Limits;
}

/**
 * Loads the modules below a directory and returns the operations that they export as default: one, or an array of
 * them, each with or without handler. Takes `.ts`, `.mts`, `.js` and `.mjs`, in the order of their paths; never
 * imports a module outside the directory. A module or item that is broken is reported, the others load.
 */
export async function scanOperations(
  directory: string,
  fs: ScannerFS,
  options: ScanOptions = {},
): Promise<OperationManifest[]> {
  const report: SourceReport = { imported: [], skipped: [], warnings: [] };
  const skip = (where: string, reason: string) => report.skipped.push({ where, reason });
  const scan = new Scan(skip, resolveLimits(options.limits).operations);

  for (const file of await findModules(directory, fs, skip)) {
    try {
      scan.take(file.path, await load(file, fs));
    } catch (error) {
      skip(file.path, `cannot be imported: ${truncate(mapError(error).message, 500)}`);
    }
    if (scan.full) break;
  }

  report.imported = [...scan.operations.keys()];
  if (options.onReport) options.onReport(report);
  else
    for (const item of report.skipped) warnVisibly(logger("from", "modules"), "Skipped {where}: {reason}", { ...item });
  return [...scan.operations.values()];
}

type Skip = (where: string, reason: string) => void;

async function load(file: ModuleFile, fs: ScannerFS): Promise<object> {
  const exports = await (fs.import ? fs.import(file.url) : import(/* @vite-ignore */ file.url));
  return typeof exports === "object" && exports !== null ? exports : {};
}

/** Collects the operations of one module after the other. */
class Scan {
  readonly operations = new Map<string, OperationManifest>();
  readonly #places = new Map<string, string>();
  readonly #skip: Skip;
  readonly #limit: number;
  full = false;

  constructor(skip: Skip, limit: number) {
    this.#skip = skip;
    this.#limit = limit;
  }

  take(path: string, exports: object): void {
    if (!("default" in exports)) {
      this.#hintAtNamedExports(path, exports);
      return;
    }
    const exported = unwrapDefault(exports.default);
    if (!Array.isArray(exported)) this.#add(path, exported);
    else for (const [index, item] of exported.entries()) this.#add(`${path}[${index}]`, item);
  }

  #add(where: string, item: unknown): void {
    if (this.full) return;
    try {
      assertValidSpec(item);
    } catch (error) {
      this.#skip(where, mapError(error).message);
      return;
    }
    const id = formatOperationId(item.namespace, item.name);
    if (this.#places.has(id)) {
      this.#skip(where, `${quote(id)} is already defined in ${this.#places.get(id)}`);
    } else if (this.operations.size >= this.#limit) {
      this.full = true;
      this.#skip(where, `is beyond the first ${this.#limit} operations; raise limits.operations if this is meant`);
    } else {
      this.#places.set(id, where);
      this.operations.set(id, item);
    }
  }

  /** A module without default export is a helper, unless it exports operations by name: then somebody misses them. */
  #hintAtNamedExports(path: string, exports: object): void {
    const names = Object.entries(exports).flatMap(([name, value]) => (looksLikeOperation(value) ? [name] : []));
    if (names.length === 0) return;
    this.#skip(
      path,
      `exports operations by name only (${truncate(names.join(", "), 200)}); export them as default, several as an array`,
    );
  }
}

/** CommonJS written by a compiler, loaded as an ES module, has its default inside the default. */
function unwrapDefault(exported: unknown): unknown {
  const module = exported as { __esModule?: unknown; default?: unknown } | null | undefined;
  return typeof module === "object" && module?.__esModule === true && "default" in module ? module.default : exported;
}

function looksLikeOperation(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "namespace" in value && "name" in value && "inputSchema" in value
  );
}

import { logger } from "../../internal/log.ts";
import { assertObject } from "../../internal/objects.ts";
import { quote, truncate } from "../../internal/text.ts";
import {
  assertValidSpec,
  formatOperationId,
  type IOperationDefinition,
  type Limits,
  mapError,
  type OperationSpec,
  resolveLimits,
} from "../../operation/inside.ts";
import { ReportBuilder } from "../report.ts";
import type { SourceReport } from "../source.ts";
import { findModules, type ModuleFile, type ScannerFS } from "./find-modules.ts";

/** A scanned operation: its spec, and the handler if the module exports one. */
export interface OperationManifest extends OperationSpec, Pick<IOperationDefinition, "fillDefaults" | "nextPage"> {
  /** The handler that the module exports. */
  handler?: IOperationDefinition["handler"];
}

/** Options of {@link scanOperations}. */
export interface ScanOptions {
  /**
   * Receives the imported ids and the skipped items. @default each skipped item is logged as a warning, on the console
   * until LogTape is configured
   */
  onReport?: (report: SourceReport) => void;
  /** `operations` is the maximum number of operations. */
  limits?: Limits;
}

/**
 * Loads the modules below a directory and returns the operations in their default exports. A default export is one
 * operation or an array of operations, each with or without a handler. Loads `.ts`, `.mts`, `.js` and `.mjs` files in
 * the order of their paths, and never a module outside the directory. An invalid module or operation is skipped and
 * reported.
 */
export async function scanOperations(
  directory: string,
  fs: ScannerFS,
  options: ScanOptions = {},
): Promise<OperationManifest[]> {
  assertObject("scanOperations", fs, "scanOperations(folder, nodeFileSystem)");
  const report = new ReportBuilder();
  const scan = new ModuleScan(report, resolveLimits(options.limits).operations);
  for (const file of await findModules(directory, fs, (where, reason) => report.skipped(where, reason))) {
    try {
      scan.addModule(file.path, await load(file, fs));
    } catch (error) {
      report.skipped(file.path, `It cannot be imported: ${mapError(error).message}`);
    }
    if (scan.isFull) break;
  }
  for (const id of scan.operations.keys()) report.imported(id);
  const log = logger("from", "modules");
  report.deliver({ source: directory, onReport: options.onReport, log });
  return [...scan.operations.values()];
}

async function load(file: ModuleFile, fs: ScannerFS): Promise<object> {
  const exports = await (fs.import ? fs.import(file.url) : import(/* @vite-ignore */ file.url));
  return typeof exports === "object" && exports !== null ? exports : {};
}

/** Collects the operations of several modules. */
class ModuleScan {
  readonly operations = new Map<string, OperationManifest>();
  /** Whether the maximum number of operations was exceeded. */
  isFull = false;
  /** Where each operation is defined, by id. */
  readonly #places = new Map<string, string>();
  readonly #report: ReportBuilder;
  readonly #maxOperations: number;

  constructor(report: ReportBuilder, maxOperations: number) {
    this.#report = report;
    this.#maxOperations = maxOperations;
  }

  addModule(path: string, exports: object): void {
    if (!("default" in exports)) return this.#reportNamedExports(path, exports);
    const exported = unwrapDefault(exports.default);
    if (!Array.isArray(exported)) this.#add(path, exported);
    else for (const [index, item] of exported.entries()) this.#add(`${path}[${index}]`, item);
  }

  #add(where: string, item: unknown): void {
    if (this.isFull) return;
    try {
      assertValidSpec(item);
    } catch (error) {
      this.#report.skipped(where, mapError(error).message);
      return;
    }
    const id = formatOperationId(item.namespace, item.name);
    if (this.#places.has(id)) {
      this.#report.skipped(where, `${quote(id)} is already defined in ${this.#places.get(id)}.`);
    } else if (this.operations.size >= this.#maxOperations) {
      this.isFull = true;
      const reason = `There are more than ${this.#maxOperations} operations. Raise limits.operations to load them.`;
      this.#report.skipped(where, reason);
    } else {
      this.#places.set(id, where);
      this.operations.set(id, item);
    }
  }

  /** Reports a module that exports operations only by name, which is likely a mistake. Other modules are helpers. */
  #reportNamedExports(path: string, exports: object): void {
    const names = Object.entries(exports).flatMap(([name, value]) => (looksLikeOperation(value) ? [name] : []));
    if (names.length === 0) return;
    const list = truncate(names.join(", "), 200);
    const reason = `It exports operations by name only (${list}). Export one operation, or an array, as default.`;
    this.#report.skipped(path, reason);
  }
}

/** Unwraps a compiled CommonJS module, whose default export is nested when it is loaded as an ES module. */
function unwrapDefault(exported: unknown): unknown {
  const module = exported as { __esModule?: unknown; default?: unknown } | null | undefined;
  return typeof module === "object" && module?.__esModule === true && "default" in module ? module.default : exported;
}

function looksLikeOperation(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "namespace" in value && "name" in value && "inputSchema" in value
  );
}

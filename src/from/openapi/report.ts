import { logger as createLogger } from "../../internal/log.ts";
import { truncate } from "../../internal/text.ts";
import type { SourceReport } from "../source.ts";
import type { HTTPServiceConfig } from "./config.ts";

/** Where this folder logs. Silent until the application configures it. */
export const logger = createLogger("from", "openapi");

// One document can be wrong in as many places as it has lines.
const longestReason = 500;

/** Collects what became of a document's entries. Each place and reason is told once. */
export class ReportBook {
  readonly report: SourceReport = { imported: [], skipped: [], warnings: [] };
  readonly #told = new Set<string>();
  /** Skipped because the operator asked for it: told, but not worth a warning in the log. */
  readonly #asked = new Set<object>();

  imported(id: string): void {
    this.report.imported.push(id);
  }

  skipped(where: string, reason: string, options: { asked?: boolean } = {}): void {
    const item = { where, reason: truncate(reason, longestReason) };
    this.report.skipped.push(item);
    if (options.asked) this.#asked.add(item);
  }

  readonly warn = (where: string, reason: string): void => {
    const key = `${where}\n${reason}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.report.warnings.push({ where, reason: truncate(reason, longestReason) });
  };

  /** Hands the report to the operator, or to the log where nobody asked for it. */
  deliver(config: HTTPServiceConfig): void {
    if (config.onReport !== undefined) {
      config.onReport(this.report);
      return;
    }
    const { namespace } = config;
    for (const item of this.report.skipped) {
      if (this.#asked.has(item)) continue;
      logger.warn("{namespace}: {where} was skipped: {reason}", { namespace, ...item });
    }
    for (const item of this.report.warnings) {
      logger.warn("{namespace}: {where}: {reason}", { namespace, ...item });
    }
  }
}

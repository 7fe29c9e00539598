import { logger } from "../../internal/log.ts";
import { truncate } from "../../internal/text.ts";
import type { SourceReport } from "../source.ts";
import type { MCPClientConfig } from "./config.ts";

/** Where this folder logs. Silent until the application configures it. */
export const log = logger("from", "mcp");

const longestReason = 500;

/** Collects what became of one server's tools. */
export class ReportBook {
  readonly report: SourceReport;
  /** Left out because the operator asked for it: told, but not worth a warning in the log. */
  readonly #asked: Set<object>;

  /** @param earlier - what was skipped and warned of before; it is copied */
  constructor(earlier?: ReportBook) {
    this.report = {
      imported: [],
      skipped: [...(earlier?.report.skipped ?? [])],
      warnings: [...(earlier?.report.warnings ?? [])],
    };
    this.#asked = new Set(earlier === undefined ? [] : earlier.#asked);
  }

  imported(id: string): void {
    this.report.imported.push(id);
  }

  skipped(where: string, reason: string, options: { asked?: boolean } = {}): void {
    const item = { where, reason: truncate(reason, longestReason) };
    this.report.skipped.push(item);
    if (options.asked) this.#asked.add(item);
  }

  warn(where: string, reason: string): void {
    this.report.warnings.push({ where, reason: truncate(reason, longestReason) });
  }

  /** Hands the report to the operator, or to the log where nobody asked for it. */
  deliver(server: string, config: MCPClientConfig): void {
    if (config.onReport !== undefined) {
      config.onReport(this.report);
      return;
    }
    for (const item of this.report.skipped) {
      if (!this.#asked.has(item)) log.warn("{server}: {where} was skipped: {reason}", { server, ...item });
    }
    for (const item of this.report.warnings) log.warn("{server}: {where}: {reason}", { server, ...item });
  }
}

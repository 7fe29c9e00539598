import { type Logger, warnVisibly } from "../internal/log.ts";
import { truncate } from "../internal/text.ts";
import type { SourceReport } from "./source.ts";

/** Maximum length of a reason, in characters. A document can contain long invalid values in many places. */
const maxReasonLength = 500;

/** The receiver of a report. */
export interface ReportReceiver {
  /** Label of the source in log messages, such as its namespace. */
  source: string;
  /** Receives the report instead of the log. */
  onReport?: ((report: SourceReport) => void) | undefined;
  /** Logger for skipped items and warnings, if `onReport` is not set. */
  log: Logger;
  /** A report whose items were already logged. They are not logged again. */
  previous?: SourceReport | undefined;
}

/**
 * Collects the imported operations, skipped items and warnings of a source. Each warning is kept once per place and
 * reason.
 */
export class ReportBuilder {
  readonly report: SourceReport;
  readonly #known: Set<string>;
  /** Items that the configuration excludes. They are reported, but not logged. */
  readonly #requested: Set<object>;

  /** @param earlier - A report whose skipped items and warnings are copied. */
  constructor(earlier?: ReportBuilder) {
    const { skipped = [], warnings = [] } = earlier?.report ?? {};
    this.report = { imported: [], skipped: [...skipped], warnings: [...warnings] };
    this.#known = new Set(earlier === undefined ? [] : earlier.#known);
    this.#requested = new Set(earlier === undefined ? [] : earlier.#requested);
  }

  /** Adds an imported operation by its id. */
  imported(id: string): void {
    this.report.imported.push(id);
  }

  /** Adds an item that was not imported. Set `requested` if the configuration excludes it. */
  skipped(where: string, reason: string, options: { requested?: boolean } = {}): void {
    const item = { where, reason: truncate(reason, maxReasonLength) };
    this.report.skipped.push(item);
    if (options.requested) this.#requested.add(item);
  }

  /** Adds a problem that was repaired or ignored. Bound, so that it can be passed as a callback. */
  readonly warn = (where: string, reason: string): void => {
    const key = keyOf({ where, reason });
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.report.warnings.push({ where, reason: truncate(reason, maxReasonLength) });
  };

  /** Adds the skipped items and warnings of another report. */
  include({ skipped, warnings }: SourceReport): void {
    this.report.skipped.push(...skipped);
    this.report.warnings.push(...warnings);
  }

  /** Whether nothing was skipped and there is no warning. */
  get isClean(): boolean {
    return this.report.skipped.length + this.report.warnings.length === 0;
  }

  /** Passes the report to `onReport`, or logs one warning per item, on the console until LogTape is configured. */
  deliver({ source, onReport, log, previous }: ReportReceiver): void {
    if (onReport !== undefined) return onReport(this.report);
    const { skipped, warnings } = previous ?? { skipped: [], warnings: [] };
    const known = new Set([...skipped, ...warnings].map(keyOf));
    const toWarning = (message: string) => (item: ReportItem) => ({ message, properties: { source, ...item } });
    const isNew = (item: ReportItem) => !known.has(keyOf(item)) && !this.#requested.has(item);
    warnVisibly(log, [
      ...this.report.skipped.filter(isNew).map(toWarning("{source}: {where} was skipped. {reason}")),
      ...this.report.warnings.filter(isNew).map(toWarning("{source}: {where}: {reason}")),
    ]);
  }
}

type ReportItem = SourceReport["skipped"][number];

function keyOf({ where, reason }: ReportItem): string {
  return `${where}\n${reason}`;
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CallCounts } from "../../src/hub/call-counts.ts";
import type { CallRecord, RecordFilter } from "../../src/hub/call-records.ts";
import { openRecordFile } from "../../src/hub/history-file.ts";
import type { Row } from "./table.ts";

const total = 1_000_000;
const batch = 1_000;
const operations = Array.from({ length: 200 }, (_, index) => `shop.operation${index}`);
const callers = Array.from({ length: 50 }, (_, index) => `caller-${index}`);

/** A day with a million calls: a fifth of them nested, every fiftieth failed. */
function toRecord(id: number, start: number): CallRecord {
  const isFailed = id % 50 === 0;
  return {
    id,
    requestId: crypto.randomUUID(),
    parentRequestId: id % 5 === 0 ? `parent-${id % 100_000}` : undefined,
    operationId: operations[id % operations.length]!,
    source: "shop",
    identity: callers[id % callers.length],
    via: id % 2 === 0 ? "http" : "mcp",
    from: "local",
    startedAt: start + Math.floor((id / total) * 86_400_000),
    duration: (id % 997) / 10,
    status: isFailed ? "failed" : "succeeded",
    code: isFailed ? "TIMEOUT" : undefined,
    drift: undefined,
    nested: undefined,
    values: undefined,
  };
}

/** Measures pages of 50 records in a history file of a million, with further batches written between them. */
export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-history-"));
  const file = (await openRecordFile(join(folder, "calls.db")))!;
  try {
    const start = Date.now() - 86_400_000;
    const counts = new CallCounts(0);
    let id = 0;
    let writing = 0;
    const write = () => {
      const records = Array.from({ length: batch }, () => toRecord(++id, start));
      for (const record of records) counts.add(record);
      const begun = performance.now();
      file.write(records, counts.all);
      writing = performance.now() - begun;
      counts.clear();
      return records;
    };
    let sum = 0;
    const rows: Row[] = [];
    let last: readonly CallRecord[] = [];
    while (id < total) {
      last = write();
      sum += writing;
    }
    rows.push({ work: `a record of a million, in batches of ${batch}`, ratio: (sum * 1_000) / total, unit: " µs" });
    const early = last[0]!;
    const filters: Record<string, Omit<RecordFilter, "limit">> = {
      newest: {},
      "an operation": { operationId: operations[7] },
      "a caller": { identity: callers[7] },
      "a request": { requestId: early.requestId },
      "the calls of a call": { parents: ["parent-500"] },
      "an hour in the middle": { since: start + 43_200_000, until: start + 46_800_000 },
      "an operation before the middle": { operationId: operations[7], before: total / 2 },
      "failed (scan)": { status: "failed" },
      "a code that does not exist (scan)": { code: "NONE" },
    };
    for (const [name, filter] of Object.entries(filters)) {
      const times: number[] = [];
      let found = 0;
      for (let round = 0; round < 40; round++) {
        if (round % 4 === 0) write();
        const begun = performance.now();
        found = file.find({ ...filter, since: filter.since ?? start, limit: 50 }).records.length;
        times.push(performance.now() - begun);
      }
      times.sort((one, other) => one - other);
      const note = `${found} records, p95 ${times[37]!.toFixed(2)} ms`;
      rows.push({ work: `a page of 50 of a million records: ${name}`, ratio: times[20]!, unit: " ms", bar: 20, note });
    }
    const begun = performance.now();
    const until = start + 86_400_000;
    const sums = file.count({ since: start - (start % 60_000), until, step: 3_600_000, by: "operation" });
    const note = `${sums.length} sums, of a count for each call`;
    rows.push({
      work: "the counts of a day with a million calls",
      ratio: performance.now() - begun,
      unit: " ms",
      note,
    });
    return rows;
  } finally {
    file.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

import { type Broker, startBroker } from "./broker.ts";
import { type Side, startSide } from "./side.ts";
import { megabyte, type Outcome } from "./soak.ts";
import { soaks } from "./soaks.ts";
import { isBroker, isLocal, type TransportName } from "./transports.ts";

/** How much a broker may grow in any soak. */
const brokerMayGrow = 50 * megabyte;
/** In ms, between lines of progress. */
const quiet = 2_000;

/** What to run, and how hard. */
export interface SoakOptions {
  transports: readonly TransportName[];
  /** Which soaks. @default all of them */
  names?: readonly string[];
  /** Counts are multiplied by this. */
  scale: number;
  /** Bounds on memory are multiplied by this. @default 1 */
  slack?: number;
  /** Ends everything, and returns what was done until then. */
  signal?: AbortSignal;
  /** Receives lines about the progress. */
  onLine?(line: string): void;
}

/** The result of one soak on one transport. Figures that were not measured are missing. */
export interface Row extends Partial<Omit<Outcome, "soak" | "problems">> {
  transport: TransportName;
  soak: string;
  /** Most growth of the broker, in bytes. */
  brokerRSS?: number;
  problems: string[];
}

/** Runs soaks on one transport after the other. The last row of each, `close`, reports what was left at the end. */
export async function runSoaks(options: SoakOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const transport of options.transports) {
    if (options.signal?.aborted) break;
    for await (const row of soakTransport(transport, options)) {
      rows.push(row);
      options.onLine?.(`${transport} ${row.soak}: ${row.problems.join("; ") || "ok"}`);
    }
  }
  return rows;
}

async function* soakTransport(transport: TransportName, options: SoakOptions): AsyncGenerator<Row> {
  const { names, scale, slack = 1, signal } = options;
  await using broker = isBroker(transport) ? await startBroker(transport) : undefined;
  if (isBroker(transport) && broker === undefined) return;
  const isWithin = isLocal(transport) || transport === "worker";
  await using server = isWithin ? undefined : await startSide("server", { transport, port: broker?.port ?? 0 });
  const port = server === undefined ? 0 : await whenReady(server);
  await using caller = await startSide("caller", { transport, port, names: pickSoaks(transport, names), scale, slack });
  signal?.addEventListener("abort", () => void caller[Symbol.asyncDispose]());

  yield* readRows(transport, caller, broker, options);
  if (signal?.aborted) return;
  const problems = await caller.ended();
  server?.tell({ kind: "close" });
  problems.push(...((await server?.ended()) ?? []));
  problems.push(...((await broker?.leftovers()) ?? []).map((key) => `${key} is left in the broker`));
  yield { transport, soak: "close", problems };
}

function pickSoaks(transport: TransportName, names: readonly string[] | undefined): string[] {
  const fitting = soaks.filter(({ transports }) => transports?.includes(transport) ?? true);
  return fitting.map(({ name }) => name).filter((name) => names?.includes(name) ?? true);
}

async function whenReady(server: Side): Promise<number> {
  for await (const word of server.words()) if (word.kind === "ready") return word.port;
  throw new Error("The serving side did not start.");
}

async function* readRows(
  transport: TransportName,
  caller: Side,
  broker: Broker | undefined,
  { slack = 1, onLine }: SoakOptions,
): AsyncGenerator<Row> {
  let nextLine = 0;
  for await (const word of caller.words()) {
    if (word.kind === "began") {
      broker?.restart();
      nextLine = performance.now() + quiet;
    } else if (word.kind === "progress" && performance.now() > nextLine) {
      onLine?.(`${transport} ${word.soak}: ${word.done.toLocaleString("en")} of ${word.count.toLocaleString("en")}`);
      nextLine = performance.now() + quiet;
    } else if (word.kind === "ended") {
      const row: Row = { transport, ...word.outcome };
      if (broker !== undefined) row.brokerRSS = broker.peakGrowth();
      const growth = row.brokerRSS ?? 0;
      if (growth > brokerMayGrow * slack) row.problems.push(`the broker grew by ${Math.round(growth / megabyte)} MB`);
      yield row;
    }
  }
}

import { type Profiler, Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../../scripts/subpaths.ts";

/** Makes the call to be measured. */
export type Call = () => Promise<unknown>;

/** A started walk: its call, and a function that closes all ends. */
export interface Walk {
  call: Call;
  close(): Promise<void>;
}

/** What a script ran, as V8 reports it. */
export type ScriptCoverage = Profiler.ScriptCoverage;

/** A started walk whose call is the first one of another process. */
export interface ColdWalk {
  /** Makes the call, and returns what the process ran. */
  run(): Promise<ScriptCoverage[]>;
  close(): Promise<void>;
}

/** Functions of `src/` that a call runs, by file. */
export type Stops = Map<string, string[]>;

/** Returns the functions that the fourth call runs. */
export async function measure(call: Call): Promise<Stops> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  for (let count = 0; count < 3; count++) {
    await call();
    await new Promise((resolve) => setTimeout(resolve, 20)); // Wait for work that the call leaves to later turns.
  }
  await session.post("Profiler.takePreciseCoverage"); // This also resets all counts to 0.
  await call();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  return toStops(result);
}

/** Returns the functions that ran at least once. */
export function toStops(result: readonly ScriptCoverage[]): Stops {
  const stops: Stops = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const file = relative(root, fileURLToPath(url));
    if (!file.startsWith("src/")) continue;
    const names = functions
      .filter(({ functionName, ranges }) => isWritten(functionName) && (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName }) => functionName);
    if (names.length > 0) stops.set(file, names);
  }
  return stops;
}

/** Returns the stops of one walk that another does not have. */
export function subtract(stops: Stops, others: Stops): Stops {
  const rest = [...stops].map(([file, names]): [string, string[]] => {
    const known = others.get(file) ?? [];
    return [file, names.filter((name) => !known.includes(name))];
  });
  return new Map(rest.filter(([, names]) => names.length > 0));
}

/** Whether a name appears in the sources. Field initializers and helpers of the compiler do not. */
function isWritten(name: string): boolean {
  return name !== "" && name !== "__name" && !name.startsWith("<");
}

/** The caller of soaks, a separate process. It ends without a signal. */
import { openWay } from "./connecting.ts";
import { measure } from "./measure.ts";
import { watchPeak } from "./memory.ts";
import { listResources, resourcesSince } from "./resources.ts";
import type { CallerOrder, Word } from "./side.ts";
import type { Outcome } from "./soak.ts";
import { soaks } from "./soaks.ts";
import { isLocal } from "./transports.ts";

const { transport, port, serverProgram, names, scale, slack }: CallerOrder = JSON.parse(process.argv[2]!);
const say = (word: Word) => process.send!(word);
const before = listResources();
watchPeak();

const way = await openWay(transport, port, serverProgram);
const calls = await way.connect();
for (const soak of soaks.filter(({ name }) => names.includes(name))) {
  const count = Math.max(1, Math.round(soak.count * scale));
  const progress = (done: number) => say({ kind: "progress", soak: soak.name, done, count });
  say({ kind: "began" });
  const run = { calls, way, port, count, progress };
  const outcome = await measure(soak, run, { isLocal: isLocal(transport), slack }).catch(
    (error: unknown): Outcome => ({
      ...{ soak: soak.name, count, time: 0, kept: [], held: [], peakRSS: [] },
      problems: [String(error)],
    }),
  );
  say({ kind: "ended", outcome });
}

await calls.close();
const problems = await way.close().then(
  () => [],
  (error: Error) => [error.message],
);
const left = await resourcesSince(before);
say({ kind: "closed", problems: left.length === 0 ? problems : [...problems, `the caller left ${left.join(", ")}`] });
process.disconnect();

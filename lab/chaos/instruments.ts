import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Recorder } from "../../test/history/index.ts";

/** Milliseconds between samples of memory. */
const interval = 2_000;

/** How often the event loop is looked at, and from how much delay on it is worth a line, both in ms. */
const pulse = 20;
const worthTelling = 50;

/** Records when the event loop was blocked. */
export function watchLoop(recorder: Recorder): () => void {
  let due = performance.now() + pulse;
  const timer = setInterval(() => {
    const delay = performance.now() - due;
    if (delay > worthTelling) recorder.record({ kind: "loop", delay });
    due = performance.now() + pulse;
  }, pulse);
  timer.unref();
  return () => clearInterval(timer);
}

/** Records the memory of this process or thread, delays of its event loop, and uncaught errors. */
export function watchProcess(recorder: Recorder): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const stopLoop = watchLoop(recorder);
  const timer = setInterval(() => {
    collect();
    recorder.record({ kind: "memory", bytes: process.memoryUsage().heapUsed });
  }, interval);
  timer.unref();
  const onUncaught = (error: unknown) => {
    recorder.record({
      kind: "rejected",
      message: error instanceof Error ? (error.stack ?? String(error)) : String(error),
    });
  };
  process.on("unhandledRejection", onUncaught);
  process.on("uncaughtException", onUncaught);
  return () => {
    clearInterval(timer);
    stopLoop();
    process.off("unhandledRejection", onUncaught);
    process.off("uncaughtException", onUncaught);
  };
}

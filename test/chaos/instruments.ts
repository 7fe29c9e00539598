import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Recorder } from "../history/index.ts";

/** Milliseconds between samples. */
const interval = 2_000;

/** Writes down how long the event loop is held up. */
export function watchLoop(recorder: Recorder): () => void {
  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  const timer = setInterval(() => {
    recorder.record({ kind: "loop", delay: loop.max / 1e6 });
    loop.reset();
  }, interval);
  timer.unref();
  return () => {
    clearInterval(timer);
    loop.disable();
  };
}

/** Writes down how much memory this process or thread holds, how long its loop is held up, and what nobody caught. */
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

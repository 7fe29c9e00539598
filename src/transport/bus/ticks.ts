import { monotonicNow } from "../../internal/deadlines.ts";

/** A peer looks at its calls this many times in a heartbeat: one timer for all of them. */
export const ticksPerHeartbeat = 4;

/**
 * Calls `onTick` four times in each heartbeat, with `true` once in four. After a pause of this process one tick is left
 * out: the timers of a process fire before it reads its sockets, where the signs of life of its peers are waiting.
 * Returns what stops it.
 */
export function startTicks(heartbeat: number, onTick: (isHeartbeat: boolean) => void): () => void {
  const step = heartbeat / ticksPerHeartbeat;
  let dueAt = monotonicNow() + step;
  let wasLeftOut = false;
  let count = 0;
  const timer = setInterval(() => {
    const now = monotonicNow();
    wasLeftOut = !wasLeftOut && now - dueAt > step;
    dueAt = now + step;
    if (wasLeftOut) return;
    count += 1;
    onTick(count % ticksPerHeartbeat === 0);
  }, step);
  timer.unref(); // signs of life must not keep the process alive
  return () => clearInterval(timer);
}

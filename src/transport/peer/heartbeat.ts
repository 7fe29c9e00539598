import { monotonicNow } from "../../internal/deadlines.ts";

/** What a heartbeat watches. */
export interface Pulse {
  /** Changes whenever something arrives from the remote peer. */
  readonly receivedCount: number;
  /** How many bytes wait to be sent: when they become fewer, the remote peer reads. */
  readonly bufferedAmount: number;
  /** Asks the remote peer for a sign of life. */
  ping(): void;
  /** Called once when it has been silent for too long. */
  onSilence(): void;
}

/**
 * Notices within two `interval`s (ms) that a peer at the end of a channel is gone without a close: asks after half an
 * interval of silence, and ends when nothing arrives in the next half. Returns a function that stops it.
 */
export function startHeartbeat(pulse: Pulse, interval: number): () => void {
  let received = pulse.receivedCount;
  let buffered = pulse.bufferedAmount;
  let hasAsked = false;
  const stop = startSteps(interval / 2, (wasPaused) => {
    const isAlive = pulse.receivedCount !== received || pulse.bufferedAmount < buffered || wasPaused;
    received = pulse.receivedCount;
    buffered = pulse.bufferedAmount;
    if (isAlive) {
      hasAsked = false;
    } else if (hasAsked) {
      stop();
      pulse.onSilence();
    } else {
      hasAsked = true;
      pulse.ping();
    }
  });
  return stop;
}

/** A peer on a broker checks its calls this many times in a heartbeat, with one timer for all of them. */
export const ticksPerHeartbeat = 4;

/**
 * Calls `onTick` four times in each heartbeat (ms), with `true` once in four. After a pause of this process one tick is
 * left out: its timers fire before it reads its sockets, where the signs of life of its peers wait. Returns a function
 * that stops it.
 */
export function startTicks(heartbeat: number, onTick: (isHeartbeat: boolean) => void): () => void {
  let wasLeftOut = false;
  let count = 0;
  return startSteps(heartbeat / ticksPerHeartbeat, (wasPaused) => {
    wasLeftOut = !wasLeftOut && wasPaused;
    if (wasLeftOut) return;
    count += 1;
    onTick(count % ticksPerHeartbeat === 0);
  });
}

/** Calls `onStep` every `step` ms. A process that was paused has not read its sockets, and must not call peers silent. */
function startSteps(step: number, onStep: (wasPaused: boolean) => void): () => void {
  let dueAt = monotonicNow() + step;
  const timer = setInterval(() => {
    const now = monotonicNow();
    const wasPaused = now - dueAt > step;
    dueAt = now + step;
    onStep(wasPaused);
  }, step);
  if (typeof timer === "object") timer.unref(); // waiting for signs of life must not keep the process alive
  return () => clearInterval(timer);
}

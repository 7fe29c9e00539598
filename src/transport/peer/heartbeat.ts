/** A connection that a heartbeat monitors. */
export interface Pulse {
  /** Changes whenever data arrives from the remote peer. */
  readonly receivedCount: number;
  /** Number of bytes that wait to be sent. When it decreases, the remote peer is reading. */
  readonly bufferedAmount: number;
  /** Requests a reply that shows that the remote peer is alive. */
  ping(): void;
  /** Called once when the remote peer was silent for too long. */
  onSilence(): void;
}

/**
 * Detects within two `interval`s (ms) that a peer at the end of a channel is gone without a close. Sends a ping after
 * half an interval of silence, and reports silence when nothing arrives in the next half. Returns a function that stops
 * it.
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

/** Calls `onStep` every `step` ms. Peers must not count as silent after a pause, because sockets were not read. */
function startSteps(step: number, onStep: (wasPaused: boolean) => void): () => void {
  let dueAt = performance.now() + step;
  const timer = setInterval(() => {
    const now = performance.now();
    const wasPaused = now - dueAt > step;
    dueAt = now + step;
    onStep(wasPaused);
  }, step);
  if (typeof timer === "object") timer.unref(); // waiting for heartbeats must not keep the process alive
  return () => clearInterval(timer);
}

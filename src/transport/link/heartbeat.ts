/** What a heartbeat watches. */
export interface Pulse {
  /** Counts what was heard of the other side. */
  readonly heard: number;
  /** What still waits to be sent: if it gets less, somebody reads. */
  readonly bufferedAmount: number;
  /** Asks the other side to say something. */
  ping(): void;
  /** Called once when it has been silent for too long. */
  onSilence(): void;
}

/**
 * Finds out within two `interval`s (ms) that the other side is gone without a word: asks after half an interval of
 * silence, and gives up when nothing comes in the next half. Gives what stops it.
 */
export function startHeartbeat(pulse: Pulse, interval: number): () => void {
  const step = interval / 2;
  let heard = pulse.heard;
  let buffered = pulse.bufferedAmount;
  let hasAsked = false;
  let due = performance.now() + step;
  const timer = setInterval(() => {
    const now = performance.now();
    // A process that itself stood still has not listened, and must not call others silent.
    const wasAsleep = now - due > step;
    due = now + step;
    const isAlive = pulse.heard !== heard || pulse.bufferedAmount < buffered || wasAsleep;
    heard = pulse.heard;
    buffered = pulse.bufferedAmount;
    if (isAlive) {
      hasAsked = false;
    } else if (hasAsked) {
      clearInterval(timer);
      pulse.onSilence();
    } else {
      hasAsked = true;
      pulse.ping();
    }
  }, step);
  // Waiting for a sign of life is no reason to stay alive. Browsers have numbers for timers.
  if (typeof timer === "object") timer.unref();
  return () => clearInterval(timer);
}

import { monotonicNow } from "../../internal/deadlines.ts";
import { RemoteClock } from "../../internal/remote-clock.ts";
import type { OtherFrame } from "../codec/index.ts";
import type { CallRequested } from "../transport.ts";

/** A request that was on its way for longer than this, in ms, may have been given up meanwhile. */
const late = 50;

/** A request as a link sends it. */
export interface StampedRequest extends CallRequested {
  /** Milliseconds of the asker's own monotonic clock. A claim, as everything in a frame. */
  sentAt?: unknown;
}

/** Notes in a request when it leaves. In the request itself: writing a copy takes several times as long. */
export function stamp(frame: StampedRequest): StampedRequest {
  frame.sentAt = Math.floor(monotonicNow());
  return frame;
}

/** The answer to a ping. */
export function pong(): OtherFrame {
  return { type: "link.ponged", clock: monotonicNow() };
}

interface Ping {
  readonly asked: number;
  answered(): void;
}

/**
 * The pings of a link. Their answers tell the clock of the other side, and by it how long its requests were on their
 * way: a link or a process may stand still for any time. And when an answer is here, all that was sent before it is.
 */
export class Pings {
  readonly #send: (frame: OtherFrame) => void;
  readonly #open: Ping[] = [];
  readonly #clock = new RemoteClock();
  #held: Array<() => void> = [];

  constructor(send: (frame: OtherFrame) => void) {
    this.#send = send;
  }

  ping(answered: () => void = () => {}): void {
    this.#open.push({ asked: monotonicNow(), answered });
    this.#send({ type: "link.pinged" });
  }

  take({ clock }: OtherFrame): void {
    const ping = this.#open.shift();
    if (ping === undefined) return;
    if (Number.isFinite(clock)) this.#clock.set(ping.asked, clock as number);
    ping.answered();
  }

  /** How long a request was on its way, in ms; `undefined` when nobody knows whether its asker still waits. */
  ageOf({ sentAt }: StampedRequest, now: number): number | undefined {
    // Requests that tell no time are taken as they come.
    if (!Number.isFinite(sentAt)) return 0;
    const age = this.#clock.ageOf(sentAt as number, now);
    if (age === undefined || age > late) return undefined;
    if (this.#clock.isDue(now)) this.ping();
    return age;
  }

  /** Keeps a request until everything has come that was sent behind it, such as an abort. See `askForHeld`. */
  hold({ sentAt }: StampedRequest, begin: (age: number, now: number) => void): void {
    this.#held.push(() => {
      const now = monotonicNow();
      begin(this.#clock.ageOf(sentAt as number, now) ?? 0, now);
    });
  }

  /** To be called when a message was read: asks once for all that it made wait. */
  askForHeld(): void {
    if (this.#held.length === 0) return;
    const held = this.#held;
    this.#held = [];
    this.ping(() => {
      for (const begin of held) begin();
    });
  }

  /** The link is gone: nobody shall wait any more. */
  close(): void {
    for (const { answered } of this.#open.splice(0)) answered();
  }
}

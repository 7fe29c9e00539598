import { encode, type FrameLimits } from "../codec/index.ts";
import type { Engine } from "./engine.ts";
import { Mailbag } from "./mailbag.ts";
import { withSender } from "./message.ts";

/** Sends frames to other peers. */
export class Post {
  readonly #engine: Engine;
  readonly #limits: FrameLimits;
  readonly #mailbag: Mailbag;
  #sendLimits: FrameLimits;

  constructor(engine: Engine, limits: FrameLimits) {
    this.#engine = engine;
    this.#limits = limits;
    this.#sendLimits = limits;
    this.#mailbag = new Mailbag(
      (address, text) => engine.send(address, text),
      () => engine.maxMessage,
    );
  }

  /** Largest message that may be sent now, in bytes. A server's limit is known when it is connected, and may change. */
  get maxMessage(): number {
    return Math.min(this.#limits.maxMessage, this.#engine.maxMessage);
  }

  /** Throws a `CallError` when the frame cannot travel. */
  encode(frame: { type: string }): string {
    const { maxMessage } = this;
    if (this.#sendLimits.maxMessage !== maxMessage) {
      this.#sendLimits = { maxMessage, jsonDepth: this.#limits.jsonDepth };
    }
    return encode(frame, this.#sendLimits);
  }

  /** Frames that say who sends them: only the asker of a call can touch it. */
  sign(...frames: Array<{ type: string }>): string {
    return withSender(this.#engine.address, frames.map((frame) => this.encode(frame)).join("\n"));
  }

  /** Sends a frame with others that go to the same address in this turn. */
  push(address: string, frame: { type: string }): void {
    this.#mailbag.push(address, this.encode(frame));
  }

  /** Sends what waits. */
  flush(): void {
    this.#mailbag.flush();
  }

  gossip(frame: { type: string }): void {
    if (this.#engine.isConnected) this.#engine.gossip(this.encode(frame));
  }
}

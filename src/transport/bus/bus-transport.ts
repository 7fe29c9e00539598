import { WireTransport } from "../peer/index.ts";
import { BusWire, type ResolvedBusOptions } from "./bus-wire.ts";
import type { BusEngine, EngineEvents } from "./engine.ts";

/** A transport over a message broker. */
export class BusTransport extends WireTransport {
  readonly #wire: BusWire;

  /** @param connect creates the engine, which reports to this transport */
  constructor(connect: (events: EngineEvents) => BusEngine, options: ResolvedBusOptions) {
    const wire = new BusWire(connect, options);
    super(wire, options.limits.pendingCalls);
    this.#wire = wire;
  }

  /** Number of malformed messages that have arrived. */
  get dropped(): number {
    return this.#wire.dropped;
  }
}

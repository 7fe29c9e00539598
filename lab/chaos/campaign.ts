import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Recorder } from "../../test/history/index.ts";
import type { Arena } from "./arena.ts";
import type { Caller } from "./caller.ts";
import { makeCall } from "./load.ts";
import type { Random } from "./random.ts";
import { longestDeadline, mostPending } from "./settings.ts";
import { insist, within } from "./within.ts";

/** How long, in ms, a fault lasts at most. */
const longestFault = 2_500;
/** How often a pause without faults follows, to observe the recovery, and for how long, in ms. */
const rest = { chance: 0.15, length: 5_500 };

/** Calls and faults in one arena. */
export class Campaign {
  readonly #arena: Arena;
  readonly #loadRandom: Random;
  readonly #random: Random;
  readonly #recorder: Recorder;
  readonly #pause: number;
  readonly #open = new Set<Promise<unknown>>();
  #calls = 0;
  #faults = 0;

  /** @param rate how many calls are made in a second */
  constructor(arena: Arena, random: Random, recorder: Recorder, rate: number) {
    this.#arena = arena;
    this.#loadRandom = random.fork("load");
    this.#random = random;
    this.#recorder = recorder;
    this.#pause = 1_000 / rate;
  }

  /** Breaks things until `faults` is over, makes calls until `calls` is, and resolves when all of them have settled. */
  async run(faults: AbortSignal, calls: AbortSignal): Promise<void> {
    // Two sources of faults, one of them rare, so that sometimes two faults overlap.
    const breaking = [1, 3].map((patience) => this.#breakThings(faults, patience));
    await Promise.all([this.#makeCalls(calls), ...breaking]);
    // What still runs then is ended by closing its caller, which is one more way to end.
    await within(longestDeadline + 500, Promise.all(this.#open)).catch(() => {});
    // Nothing is broken any more: every caller gets a response soon.
    await Promise.all(this.#arena.callers.map((caller) => this.#recover(caller)));
  }

  toString(): string {
    const { transport } = this.#arena;
    return `${transport} ${this.#calls} calls, ${this.#open.size} open, ${this.#faults} faults`;
  }

  async #makeCalls(signal: AbortSignal): Promise<void> {
    const random = this.#loadRandom;
    let due = performance.now();
    while (!signal.aborted) {
      // Bursts and pauses: what is made in one turn shares a message.
      const burst = random.chance(0.1) ? random.integer(5, 20) : 1;
      const { callers } = this.#arena;
      if (callers.length > 0) this.#makeBurst(random.pick(callers), burst, random);
      due = Math.max(due + burst * this.#pause, performance.now() - 100);
      await sleep(due - performance.now(), signal);
    }
  }

  #makeBurst(caller: Caller, size: number, random: Random): void {
    for (let count = 0; count < size && caller.pending < mostPending; count++) {
      this.#calls++;
      const settled = makeCall(caller, random).finally(() => this.#open.delete(settled));
      this.#open.add(settled);
    }
  }

  async #recover(caller: Caller): Promise<void> {
    const wish = { operation: "chaos.echo", input: {}, timeout: longestDeadline };
    await insist(async () => assert(await caller.call(wish), `${caller.name} got no answer in the end`)).catch(
      ({ message }) => this.#recorder.record({ kind: "rejected", message }),
    );
  }

  /** @param patience how much longer than usual to wait between two faults */
  async #breakThings(signal: AbortSignal, patience: number): Promise<void> {
    const random = this.#random.fork(`faults ${patience}`);
    while (!signal.aborted) {
      await sleep(patience * random.integer(200, 1_200), signal);
      if (signal.aborted) return;
      await this.#breakOne(random, signal);
      if (random.chance(rest.chance)) await sleep(rest.length, signal);
    }
  }

  async #breakOne(random: Random, signal: AbortSignal): Promise<void> {
    const { transport, faults } = this.#arena;
    const possible = faults.filter((fault) => fault.isPossible?.() ?? true);
    if (possible.length === 0) return;
    const fault = random.weighted(possible);
    const id = `${transport} fault ${++this.#faults}`;
    this.#recorder.record({ kind: "injected", fault: fault.name, transport, id });
    try {
      const heal = await fault.inject(random);
      await sleep(random.integer(50, longestFault), signal);
      await heal();
    } catch (error) {
      this.#recorder.record({ kind: "rejected", message: `${fault.name} could not be healed: ${error}` });
    }
    this.#recorder.record({ kind: "healed", transport, id });
  }
}

/** Resolves after so many ms, or when the signal fires. */
async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(0, milliseconds), undefined, { signal }).catch(() => {});
}

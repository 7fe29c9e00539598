import type { Caller } from "./caller.ts";
import type { Random } from "./random.ts";

/** The transports that chaos knows. */
export const transportNames = ["worker", "websocket", "nats", "redis"] as const;

/** One of them. */
export type TransportName = (typeof transportNames)[number];

/** Repairs what a fault has broken. */
export type Heal = () => void | Promise<void>;

/** Something that can be done to an arena. */
export interface Fault {
  readonly name: string;
  readonly weight: number;
  /** Whether there is something just now that can be broken. Absent when there always is. */
  isPossible?(): boolean;
  /** Breaks something. */
  inject(random: Random): Promise<Heal>;
}

/** Callers and workers of one transport, and the faults that can be caused. */
export interface Arena {
  readonly transport: TransportName;
  readonly callers: readonly Caller[];
  readonly faults: readonly Fault[];
  /** Ends callers first, then workers, then what carried their calls. */
  close(): Promise<void>;
}

/** Things that can be broken, of which each has at most one fault at a time. */
export class Breakables<T> {
  readonly #items: readonly T[];
  readonly #broken = new Set<T>();

  constructor(items: readonly T[]) {
    this.#items = items;
  }

  /** A fault of a process or link that is not broken yet. */
  createFault(name: string, weight: number, damage: (item: T, random: Random) => Heal | Promise<Heal>): Fault {
    const whole = () => this.#items.filter((item) => !this.#broken.has(item));
    return {
      name,
      weight,
      isPossible: () => whole().length > 0,
      inject: async (random) => {
        const item = random.pick(whole());
        this.#broken.add(item);
        const heal = await damage(item, random);
        return async () => {
          await heal();
          this.#broken.delete(item);
        };
      },
    };
  }
}

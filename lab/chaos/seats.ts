import { join } from "node:path";
import type { Transport } from "@alkdev/operations";
import { createRecorder } from "../../test/history/index.ts";
import type { Fault, TransportName } from "./arena.ts";
import { Breakables } from "./arena.ts";
import { Caller } from "./caller.ts";
import { insist } from "./within.ts";

/** Where one caller sits: when it is closed another takes its place. */
interface Seat {
  readonly index: number;
  caller: Caller;
  isOpen: boolean;
}

/** The callers of an arena. */
export class Seats {
  readonly #transport: TransportName;
  readonly #folder: string;
  readonly #connect: (index: number, name: string) => Promise<Transport>;
  readonly #seats: Seat[] = [];
  #count = 0;

  /** @param connect makes the transport of the caller at a place, of that name */
  constructor(transport: TransportName, folder: string, connect: (index: number, name: string) => Promise<Transport>) {
    this.#transport = transport;
    this.#folder = folder;
    this.#connect = connect;
  }

  /** Those that are not being closed. */
  get callers(): Caller[] {
    return this.#seats.filter(({ isOpen }) => isOpen).map(({ caller }) => caller);
  }

  async fill(count: number): Promise<void> {
    const indexes = Array.from({ length: count }, (_, index) => index);
    const callers = await Promise.all(indexes.map((index) => this.#seat(index)));
    for (const index of indexes) this.#seats.push({ index, caller: callers[index]!, isOpen: true });
  }

  /** A caller is closed with calls in flight, and another takes its place. */
  createFault(weight: number): Fault {
    return new Breakables(this.#seats).createFault("caller closed", weight, (seat) => {
      seat.isOpen = false;
      const leaving = seat.caller.close();
      // Calls that are made while it closes, and afterwards, must fail too.
      const late = [1, 2, 3].map(() => seat.caller.call({ operation: "chaos.echo", input: {} }));
      return async () => {
        await Promise.all([leaving, ...late]);
        seat.caller = await this.#seat(seat.index);
        seat.isOpen = true;
      };
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.callers.map((caller) => caller.close()));
  }

  async #seat(index: number): Promise<Caller> {
    const name = `${this.#transport} caller ${++this.#count}`;
    const transport = await insist(() => this.#connect(index, name));
    return new Caller(name, this.#transport, transport, createRecorder(join(this.#folder, name), name));
  }
}

import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

/** Which way bytes go: up to the server, or down to the client. */
export type Direction = "up" | "down";

/** A proxy between a client and a server that can cut, delay and reset connections. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Drops everything in one or both directions without refusing it, like a cut cable, until `heal` is called. */
  blackhole(direction?: Direction): void;
  /** Delays everything by this many milliseconds in each direction, until `heal` is called. */
  delay(milliseconds: number): void;
  heal(): void;
  /** Cuts every connection with a TCP reset. New ones are taken. */
  reset(): void;
  close(): Promise<void>;
}

/** The current fault of the link. */
interface Condition {
  holes: Set<Direction>;
  delay: number;
}

/** Maximum size that is buffered for one connection. Above it the sender has to wait, as on a slow link. */
const maxHeld = 4 * 1024 * 1024;

/** Starts a proxy in front of a port of this machine. */
export async function startProxy(target: number): Promise<Proxy> {
  const pairs = new Set<readonly [Pipe, Pipe]>();
  const condition: Condition = { holes: new Set(), delay: 0 };
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = createConnection({ port: target, host: "127.0.0.1", noDelay: true });
    const pair = [new Pipe("up", client, upstream, condition), new Pipe("down", upstream, client, condition)] as const;
    pairs.add(pair);
    for (const socket of [client, upstream]) {
      socket.on("error", () => {}); // `close` follows
      socket.on("close", () => {
        pairs.delete(pair);
        for (const pipe of pair) pipe.close();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  const update = () => {
    for (const pipe of [...pairs].flat()) pipe.update();
  };
  const reset = () => {
    for (const [up, down] of [...pairs]) {
      up.from.resetAndDestroy();
      down.from.destroy();
    }
  };
  const close = async () => {
    reset();
    server.close();
    await once(server, "close");
  };
  return {
    port: (server.address() as { port: number }).port,
    blackhole(direction) {
      for (const way of direction === undefined ? (["up", "down"] as const) : [direction]) condition.holes.add(way);
      update();
    },
    delay(milliseconds) {
      condition.delay = milliseconds;
    },
    heal() {
      condition.holes.clear();
      condition.delay = 0;
      update();
    },
    reset,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One direction of one connection. Bytes keep their order, whatever becomes of the delay. */
class Pipe {
  readonly from: Socket;
  readonly #to: Socket;
  readonly #direction: Direction;
  readonly #condition: Condition;
  readonly #held: Array<{ chunk: Buffer; due: number }> = [];
  #heldBytes = 0;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(direction: Direction, from: Socket, to: Socket, condition: Condition) {
    this.from = from;
    this.#to = to;
    this.#direction = direction;
    this.#condition = condition;
    from.on("data", (chunk) => this.#take(chunk));
    to.on("drain", () => {
      this.#isFull = false;
      this.update();
    });
    this.update();
  }

  /** Passes or holds bytes, as the condition requires. */
  update(): void {
    const isHeldBack = this.#isFull || this.#heldBytes > maxHeld || this.#condition.holes.has(this.#direction);
    if (isHeldBack) this.from.pause();
    else this.from.resume();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#to.destroy();
    this.from.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#condition.delay === 0 && this.#held.length === 0) return this.#pass(chunk);
    this.#held.push({ chunk, due: performance.now() + this.#condition.delay });
    this.#heldBytes += chunk.length;
    this.update();
    this.#timer ??= setTimeout(() => this.#release(), this.#condition.delay);
  }

  #release(): void {
    const now = performance.now();
    for (let next = this.#held[0]; next !== undefined && next.due <= now; next = this.#held[0]) {
      this.#held.shift();
      this.#heldBytes -= next.chunk.length;
      this.#pass(next.chunk);
    }
    const next = this.#held[0];
    this.#timer = next === undefined ? undefined : setTimeout(() => this.#release(), next.due - now);
    this.update();
  }

  #pass(chunk: Buffer): void {
    if (this.#to.destroyed || this.#to.write(chunk)) return;
    this.#isFull = true;
    this.update();
  }
}

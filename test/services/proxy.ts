import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

/** Stands between a client and a server, and can break what goes through. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** From now on nothing passes and nothing is refused, as when a cable is cut. Undone with `heal`. */
  blackhole(): void;
  heal(): void;
  /** Cuts every connection with a TCP reset. New ones are taken. */
  reset(): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a port of this machine. */
export async function startProxy(target: number): Promise<Proxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isHole = false;
  const server = createServer((client) => {
    const upstream = createConnection({ port: target, host: "127.0.0.1" });
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.on("data", (chunk) => {
        if (!to.write(chunk)) from.pause();
      });
      to.on("drain", () => {
        if (!isHole) from.resume();
      });
      from.on("error", () => to.destroy());
      from.on("close", () => {
        pairs.delete(pair);
        to.destroy();
      });
      if (isHole) from.pause();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  const reset = () => {
    for (const [client, upstream] of [...pairs]) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  };
  const close = async () => {
    reset();
    server.close();
    await once(server, "close");
  };
  return {
    port: (server.address() as { port: number }).port,
    blackhole() {
      isHole = true;
      for (const socket of [...pairs].flat()) socket.pause();
    },
    heal() {
      isHole = false;
      for (const socket of [...pairs].flat()) socket.resume();
    },
    reset,
    close,
    [Symbol.asyncDispose]: close,
  };
}

import { connect as connectNATS } from "@nats-io/transport-node";
import { createClient } from "@redis/client";
import { createSocketController } from "../../src/transport/bus/index.ts";
import type { Recorder } from "../../test/history/index.ts";
import type { Fault } from "./arena.ts";
import { createGarbage } from "./garbage.ts";

/** A stranger on the bus that sends malformed messages and repeats the messages of others. */
export interface Stranger {
  readonly faults: readonly Fault[];
  close(): Promise<void>;
}

/** Number of malformed messages per batch. */
const handful = 30;
/** Number of messages that are remembered, so that repeated messages are not repeated again. */
const memory = 10_000;

/** A stranger with a connection to NATS. */
export async function createNATSStranger(port: number, recorder: Recorder): Promise<Stranger> {
  const connection = await connectNATS({
    servers: `127.0.0.1:${port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
  });
  const repeater = createRepeater<Uint8Array>({
    say: (subject, data) => connection.publish(subject, data),
    listen: (hear) => {
      const subscription = connection.subscribe("_INBOX.>", {
        callback: (error, { subject, data }) => {
          if (error === null) hear(subject, data, Buffer.from(data).toString("latin1"));
        },
      });
      return () => subscription.unsubscribe();
    },
  });
  const places = [
    ...["echo", "secret", "count"].map((name) => `operations.call.chaos.${name}`),
    "operations.abort.chaos.slow",
    "operations.peers",
  ];
  return {
    faults: [
      createGarbageFault(recorder, (text, index) => {
        if (!connection.isClosed())
          connection.publish(places[index % places.length]!, text, { reply: "_INBOX.stranger.r1" });
      }),
      repeater,
    ],
    close: () => connection.close(),
  };
}

/** A stranger with connections to Redis. */
export async function createRedisStranger(port: number, recorder: Recorder): Promise<Stranger> {
  const sockets = [createSocketController(), createSocketController()] as const;
  const [client, subscriber] = [createRedisClient(port, sockets[0].signal), createRedisClient(port, sockets[1].signal)];
  await Promise.all([client.connect(), subscriber.connect()]);
  const send = (...args: string[]) => {
    if (client.isReady) client.sendCommand(args).catch(() => {});
  };
  const repeater = createRepeater<string>({
    say: (channel, text) => send("PUBLISH", channel, text),
    listen: async (hear) => {
      const pattern = "operations:0:inbox:*";
      // Its server may be down at the moment, and it subscribes again automatically.
      await subscriber.pSubscribe(pattern, (text, channel) => hear(channel, text, text)).catch(() => {});
      return () => void subscriber.pUnsubscribe(pattern).catch(() => {});
    },
  });
  /** Pushes a request to one of the lists of the workers. */
  const push = async (text: string, index: number) => {
    const lists = (await client.sendCommand(["SMEMBERS", "operations:sets"])) as unknown as string[];
    const list = lists[index % lists.length];
    if (list === undefined) return;
    const key = `operations:request:stranger:${index}`;
    send("SET", key, `operations:0:inbox:x\n${text}`, "PX", "1000");
    send("LPUSH", `operations:list:${list}`, key);
  };
  return {
    faults: [
      createGarbageFault(recorder, (text, index) => {
        if (index % 2 === 0) send("PUBLISH", "operations:0:peers", text);
        else if (client.isReady) push(text, index).catch(() => {});
      }),
      repeater,
    ],
    async close() {
      client.destroy();
      subscriber.destroy();
      for (const socket of sockets) socket.abort(); // `destroy()` leaves a socket open that is still connecting.
    },
  };
}

function createRedisClient(port: number, signal: AbortSignal) {
  const client = createClient({
    url: `redis://127.0.0.1:${port}`,
    RESP: 2,
    maintNotifications: "disabled",
    disableOfflineQueue: true,
    socket: { reconnectStrategy: 200, signal },
  });
  client.on("error", () => {}); // It reconnects automatically.
  return client;
}

function createGarbageFault(recorder: Recorder, send: (text: string, index: number) => void): Fault {
  return {
    name: "garbage",
    weight: 2,
    async inject(random) {
      const pieces = Array.from({ length: handful }, () => createGarbage(random, recorder));
      for (const [index, text] of pieces.entries()) send(text, index);
      return () => {};
    },
  };
}

/** What a repeater needs of a bus. */
interface Bus<T> {
  say(address: string, message: T): void;
  /** Receives what is sent to inboxes, until the returned function is called. `text` is the message as a string. */
  listen(hear: (address: string, message: T, text: string) => void): (() => void) | Promise<() => void>;
}

/**
 * Says again, while the fault lasts, what is sent to inboxes. Listens only so long: who listens to everything makes
 * callers that are gone look as if they were there.
 */
function createRepeater<T>({ say, listen }: Bus<T>): Fault {
  return {
    name: "messages doubled",
    weight: 1,
    async inject() {
      const said = new Set<string>();
      return listen((address, message, text) => {
        const key = `${address} ${text}`;
        if (said.delete(key)) return; // a message that it sent itself
        if (said.size >= memory) said.clear();
        said.add(key);
        say(address, message);
      });
    },
  };
}

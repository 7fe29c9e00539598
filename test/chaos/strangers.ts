import { connect as connectNATS } from "@nats-io/transport-node";
import { createClient } from "@redis/client";
import type { Recorder } from "../history/index.ts";
import type { Fault } from "./arena.ts";
import { createGarbage } from "./garbage.ts";

/** Somebody else on the bus, who says what makes no sense and says again what others said. */
export interface Stranger {
  readonly faults: readonly Fault[];
  close(): Promise<void>;
}

/** How many senseless messages come at once. */
const handful = 30;
/** How many messages are remembered, so that what was said again is not said again for ever. */
const memory = 10_000;

/** A stranger with a connection to NATS. */
export async function createNATSStranger(port: number, recorder: Recorder): Promise<Stranger> {
  const connection = await connectNATS({
    servers: `127.0.0.1:${port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
  });
  const repeater = new Repeater((subject, data: Uint8Array) => connection.publish(subject, data));
  connection.subscribe("_INBOX.>", {
    callback: (error, { subject, data }) => {
      if (error === null) repeater.hear(subject, data, Buffer.from(data).toString("latin1"));
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
      repeater.fault,
    ],
    close: () => connection.close(),
  };
}

/** A stranger with connections to Redis. */
export async function createRedisStranger(port: number, recorder: Recorder): Promise<Stranger> {
  const client = createClient({
    url: `redis://127.0.0.1:${port}`,
    RESP: 2,
    maintNotifications: "disabled",
    disableOfflineQueue: true,
    socket: { reconnectStrategy: 200 },
  });
  const subscriber = client.duplicate();
  for (const each of [client, subscriber]) each.on("error", () => {}); // it connects again by itself
  await Promise.all([client.connect(), subscriber.connect()]);
  const send = (...args: string[]) => {
    if (client.isReady) client.sendCommand(args).catch(() => {});
  };
  const repeater = new Repeater((channel, text: string) => send("PUBLISH", channel, text));
  await subscriber.pSubscribe("operations:inbox:*", (text, channel) => repeater.hear(channel, text, text));
  const streams = ["echo", "secret", "count"].map((name) => `operations:call:chaos.${name}`);
  const channels = ["operations:abort:chaos.slow", "operations:peers"];
  return {
    faults: [
      createGarbageFault(recorder, (text, index) => {
        if (index % 2 === 0) send("PUBLISH", channels[(index / 2) % channels.length]!, text);
        else
          send(
            "XADD",
            streams[index % streams.length]!,
            "NOMKSTREAM",
            "*",
            "from",
            "operations:inbox:x",
            "frame",
            text,
          );
      }),
      repeater.fault,
    ],
    async close() {
      client.destroy();
      subscriber.destroy();
    },
  };
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

/** Says again, while its fault lasts, what is sent to inboxes. */
class Repeater<T> {
  readonly fault: Fault;
  readonly #said = new Set<string>();
  #isOn = false;
  #say: (address: string, message: T) => void;

  constructor(say: (address: string, message: T) => void) {
    this.#say = say;
    this.fault = {
      name: "messages doubled",
      weight: 1,
      inject: async () => {
        this.#isOn = true;
        return () => {
          this.#isOn = false;
        };
      },
    };
  }

  hear(address: string, message: T, text: string): void {
    const key = `${address} ${text}`;
    if (!this.#isOn || this.#said.delete(key)) return;
    if (this.#said.size >= memory) this.#said.clear();
    this.#said.add(key);
    this.#say(address, message);
  }
}

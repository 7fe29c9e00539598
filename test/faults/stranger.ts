import { randomBytes } from "node:crypto";
import { connect } from "@nats-io/transport-node";
import { createClient } from "@redis/client";
import type { BrokerName } from "./brokers.ts";

/** A process that can write to a bus and knows the protocol, but is not a peer. */
export interface Stranger extends AsyncDisposable {
  /** Where replies to its requests go. */
  readonly address: string;
  /** The frames that were sent there. */
  readonly heard: Array<Record<string, unknown>>;
  /** Asks for an operation with any text, in the name of any address. */
  request(operationId: string, text: string, from?: string): Promise<void>;
  /** Sends to a peer. */
  send(address: string, text: string): Promise<void>;
  /** Sends to all who serve an operation. */
  abort(operationId: string, text: string): Promise<void>;
  gossip(text: string): Promise<void>;
}

/** Connects a stranger to a broker on this machine. */
export function joinAsStranger(broker: BrokerName, port: number): Promise<Stranger> {
  return broker === "nats" ? joinNATS(port) : joinRedis(port);
}

async function joinNATS(port: number): Promise<Stranger> {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const address = `_INBOX.${randomBytes(16).toString("base64url")}`;
  const heard: Stranger["heard"] = [];
  connection.subscribe(`${address}.*`, { callback: (_error, message) => hear(heard, message.string()) });
  const publish = async (subject: string, text: string, reply?: string) => {
    connection.publish(subject, text, reply === undefined ? undefined : { reply });
    await connection.flush();
  };
  return {
    address,
    heard,
    request: (operationId, text, from = address) => publish(`operations.call.${operationId}`, text, `${from}.r1`),
    send: (to, text) => publish(`${to}.m`, text),
    abort: (operationId, text) => publish(`operations.abort.${operationId}`, text),
    gossip: (text) => publish("operations.peers", text),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function joinRedis(port: number): Promise<Stranger> {
  const options = { url: `redis://127.0.0.1:${port}`, RESP: 2, maintNotifications: "disabled" } as const;
  const [client, subscriber] = [createClient(options), createClient(options)];
  await Promise.all([client.connect(), subscriber.connect()]);
  const address = `operations:0:inbox:${crypto.randomUUID()}`;
  const heard: Stranger["heard"] = [];
  await subscriber.subscribe(address, (text) => hear(heard, text));
  const send = async (...args: string[]) => void (await client.sendCommand(args));
  /** The lists of the workers that serve an operation. */
  const listsOf = async (operationId: string) => {
    const names = (await client.sendCommand(["SMEMBERS", "operations:sets"])) as unknown as string[];
    const ids = await Promise.all(names.map((name) => client.sendCommand(["GET", `operations:ids:${name}`])));
    return names.filter((_, index) => String(ids[index]).includes(JSON.stringify(operationId)));
  };
  return {
    address,
    heard,
    request: async (operationId, text, from = address) => {
      const [list] = await listsOf(operationId);
      const key = `operations:request:stranger:${randomBytes(16).toString("hex")}`;
      await send("SET", key, `${from}\n${text}`);
      await send("LPUSH", `operations:list:${list}`, key);
    },
    send: (to, text) => send("PUBLISH", to, text),
    abort: async (operationId, text) => {
      for (const list of await listsOf(operationId)) await send("PUBLISH", `operations:0:list:${list}`, text);
    },
    gossip: (text) => send("PUBLISH", "operations:0:peers", text),
    async [Symbol.asyncDispose]() {
      client.destroy();
      subscriber.destroy();
    },
  };
}

function hear(heard: Stranger["heard"], message: string): void {
  for (const line of message.split("\n")) if (line.startsWith("{")) heard.push(JSON.parse(line));
}

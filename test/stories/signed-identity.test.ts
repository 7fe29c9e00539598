import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect as connectNATS, type NatsConnection } from "@nats-io/transport-node";
import { generateKeyPair } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { operation, subscription, until } from "../../src/call/testing.ts";
import {
  buildCallHandler,
  type Identity,
  type IOperationDefinition,
  OperationRegistry,
  PendingRequestMap,
  peerSource,
} from "../../src/index.ts";
import { createJWTAuthenticator, createJWTSigner, type JWTSigner } from "../../src/jwt/index.ts";
import type { Credentials } from "../../src/serve/authenticator.ts";
import type { CallFailed, CallRequested, ReplyFrame } from "../../src/transport/index.ts";
import { createNATSTransport } from "../../src/transport/nats/index.ts";
import { createWebSocketServer, createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import { startNATS } from "../services/nats.ts";

const audience = "workers";
const ada: Identity = { id: "ada", scopes: ["admin"] };
const eve: Identity = { id: "eve", scopes: [] };
const keys = await generateKeyPair("EdDSA");
const service = await startNATS();

describe.skipIf(service === undefined)("signed identities on a bus that others read and write", () => {
  const servers = `127.0.0.1:${service?.port}`;
  let sign: JWTSigner;
  let runs: string[];
  let open: Array<{ close(): Promise<void> }>;

  beforeAll(async () => {
    sign = await createJWTSigner({ key: keys.privateKey, audience });
  });
  afterAll(() => service?.close());
  beforeEach(() => {
    runs = [];
    open = [];
  });
  afterEach(async () => {
    for (const one of open.reverse()) await one.close();
  });

  const admin = { requiredScopes: ["admin"] };
  const run =
    (name: string) =>
    (input: unknown, { identity }: { identity?: Identity }) => {
      runs.push(name);
      return [identity?.id, input];
    };
  const operations: IOperationDefinition[] = [
    { ...operation("secret", run("secret")), accessControl: admin },
    {
      ...subscription("events", async function* (_input, { identity }) {
        for (let n = 0; n < 200; n++) yield [identity?.id, n];
      }),
      accessControl: admin,
    },
  ];

  async function startWorker(): Promise<void> {
    const registry = new OperationRegistry();
    registry.registerAll(operations);
    const map = new PendingRequestMap(await createNATSTransport({ servers }));
    open.push(map);
    const authenticate = await createJWTAuthenticator({ key: keys.publicKey, audience });
    await map.handle(buildCallHandler({ registry, callMap: map, authenticate })).ready;
  }

  async function startCaller(signer = sign): Promise<PendingRequestMap> {
    const map = new PendingRequestMap(await createNATSTransport({ servers }), { sign: signer });
    open.push(map);
    return map;
  }

  /** A stranger on the bus that receives every request and sends anything. */
  async function startStranger() {
    const connection: NatsConnection = await connectNATS({ servers });
    open.push(connection);
    const heard: CallRequested[] = [];
    const answers = new Map<string, ReplyFrame>();
    connection.subscribe("operations.call.>", {
      callback: (_error, message) => void heard.push(message.json<CallRequested>()),
    });
    connection.subscribe("stranger.*.*", {
      callback: (_error, message) => {
        const frames: Array<ReplyFrame> = message
          .string()
          .split("\n")
          .filter(isJSON)
          .map((line) => JSON.parse(line));
        for (const frame of frames)
          if (frame.type.startsWith("call.")) answers.set(message.subject.split(".")[1]!, frame);
      },
    });
    await connection.flush();
    // Each time from another address, and without the caller's clock: whatever a transport checks is not relied upon.
    const send = async (frame: CallRequested) => {
      const name = randomBytes(16).toString("base64url");
      const text = JSON.stringify({ ...frame, sentAt: undefined });
      connection.publish(`operations.call.${frame.operationId}`, text, { reply: `stranger.${name}.r` });
      await until(() => answers.has(name));
      return answers.get(name) as CallFailed & { details: { reason: string } };
    };
    return { heard, send };
  }

  test("the caller's identity arrives with its calls and subscriptions", async () => {
    await startWorker();
    const calls = await startCaller();

    const { data } = await calls.call("test.secret", { at: new Date(5) }, { identity: ada });
    const values: unknown[] = [];
    for await (const value of calls.subscribe("test.events", {}, { identity: ada })) values.push(value.data);

    expect(data).toEqual(["ada", { at: new Date(5) }]);
    expect(values).toEqual(Array.from({ length: 200 }, (_, n) => ["ada", n]));
  });

  test("through a hub, a nested call is checked against the first caller", async () => {
    await startWorker();
    const hub = new OperationRegistry();
    hub.register(operation("outer", (_input, { env }) => env["test"]!["secret"]!({ from: "hub" })));
    await hub.follow(peerSource(await startCaller()));
    await until(() => hub.has("test.secret"));

    const high = await hub.execute("test.outer", {}, { identity: ada });
    const low = hub.execute("test.outer", {}, { identity: eve });

    expect(high.data).toEqual(["ada", { from: "hub" }]);
    await expect(low).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      details: { nested: { operationId: "test.secret", code: "ACCESS_DENIED" } },
    });
    expect(runs).toEqual(["secret"]);
  });

  test("a request whose identity a third party claims or forges is refused and never runs", async () => {
    await startWorker();
    const { heard, send } = await startStranger();
    const calls = await startCaller();
    await calls.call("test.secret", { n: 1 }, { identity: ada });
    await until(() => heard.length === 1);
    const [seen] = heard as [CallRequested];
    const own = await generateKeyPair("EdDSA");
    const forge = await createJWTSigner({ key: own.privateKey, audience });
    const bare: CallRequested = { ...seen, token: undefined };

    const reasons: string[] = [];
    for (const frame of [
      { ...bare, identity: ada },
      { ...seen, token: await forge(ada) },
      { ...seen, token: `${seen.token!.split(".").slice(0, 2).join(".")}.` },
    ]) {
      const { type, code, details } = await send(frame);
      reasons.push(`${type} ${code}: ${details.reason}`);
    }

    const denied = "call.error ACCESS_DENIED:";
    const anotherKey = `${denied} the token was not signed with a key of the server; check the keys of both peers`;
    expect(reasons).toEqual([`${denied} it requires an identity with an id and scopes`, anotherKey, anotherKey]);
    expect(runs).toEqual(["secret"]);
  });
});

function isJSON(line: string): boolean {
  return line.startsWith("{");
}

test("signed identities open WebSocket connections", async () => {
  const http = createServer().listen(0, "127.0.0.1");
  await once(http, "listening");
  const verify = await createJWTAuthenticator({ key: keys.publicKey, audience });
  const authenticate = ({ token }: Credentials) => verify(token);
  const serving = new PendingRequestMap(await createWebSocketServer({ server: http, authenticate }));
  const registry = new OperationRegistry();
  registry.register(operation("who", (_input, { identity }) => identity));
  await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const forAll = await createJWTSigner({ key: keys.privateKey, audience });

  const calls = new PendingRequestMap(await createWebSocketTransport(url, { token: await forAll(ada) }));

  expect((await calls.call("test.who", {})).data).toEqual(ada);
  await calls.close();
  await serving.close();
  http.close();
});

test("subscriptions of a signed identity end when its token expires, over a bus and over a WebSocket", async () => {
  const http = createServer().listen(0, "127.0.0.1");
  await once(http, "listening");
  const authenticate = await createJWTAuthenticator({ key: keys.publicKey, audience });
  const registry = new OperationRegistry();
  registry.register(
    subscription("ticks", async function* (_input, { signal }) {
      yield 0;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }),
  );
  const bus = new EventTarget();
  const onBus = new PendingRequestMap(bus);
  await onBus.handle(buildCallHandler({ registry, callMap: onBus, authenticate })).ready;
  const server = await createWebSocketServer({ server: http, authenticate: ({ token }) => authenticate(token) });
  const onSockets = new PendingRequestMap(server);
  await onSockets.handle(buildCallHandler({ registry, callMap: onSockets })).ready;
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const sign = await createJWTSigner({ key: keys.privateKey, audience, lifetime: 1_000 });
  const overBus = new PendingRequestMap(bus, { sign, trustedBus: false });
  const token = async () => sign(ada);
  const overSocket = new PendingRequestMap(await createWebSocketTransport(url, { token }));

  const ends = await Promise.all(
    [overBus, overSocket].map(async (calls) => {
      try {
        for await (const _ of calls.subscribe("test.ticks", {}, { identity: ada }));
      } catch (error) {
        return error;
      }
    }),
  );

  const expired = { code: "ACCESS_DENIED", details: { reason: "the credential of the caller has expired" } };
  expect(ends).toMatchObject([expired, expired]);
  // The client connects again with a new token.
  await vi.waitFor(() => overSocket.subscribe("test.ticks", {}).next());
  await Promise.all([overBus.close(), overSocket.close(), onBus.close(), onSockets.close()]);
  http.close();
});

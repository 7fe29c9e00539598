import { createClient } from "@redis/client";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createNATSTransport } from "../../src/transport/nats/index.ts";
import { createRedisTransport } from "../../src/transport/redis/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { outcome } from "./suite.ts";

const nats = await startNATS('authorization { user: ada, password: "right" }');
const redis = await startRedis("--requirepass", "right");
afterAll(() => Promise.all([nats?.close(), redis?.close()]));

/** No server listens there: an ordinary user may not. */
const closedPort = 1;

const notThere = { code: "UNAVAILABLE", retryable: true, mayHaveRun: false };
const denied = { code: "UPSTREAM_DENIED", retryable: false, mayHaveRun: false };

describe("NATS", () => {
  test("without a server, the error reports where and why, and contains no password", async () => {
    const connecting = createNATSTransport({ servers: `nats://ada:secret@127.0.0.1:${closedPort}` });

    const message = `Cannot connect to the NATS server at 127.0.0.1:${closedPort}: connection refused. Check that it is running and that the address is correct.`;
    await expect(connecting).rejects.toMatchObject({ ...notThere, message });
  });

  test.skipIf(nats === undefined)("invalid credentials are UPSTREAM_DENIED, which is not retryable", async () => {
    const { port } = nats!;

    const connecting = createNATSTransport({
      servers: `127.0.0.1:${port}`,
      connect: { user: "ada", pass: "wrong" },
    });

    const message = `The NATS server at 127.0.0.1:${port} refused the connection: Authorization Violation. Pass a valid user and password, or a valid token, in \`connect\`.`;
    await expect(connecting).rejects.toMatchObject({ ...denied, message });
  });

  test.skipIf(nats === undefined)("a server with a tls:// address is not connected to without TLS", async () => {
    const connecting = createNATSTransport({
      servers: `tls://127.0.0.1:${nats!.port}`,
      connect: { user: "ada", pass: "right" },
    });

    await expect(connecting).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("server does not support 'tls'"),
    });
  });
});

describe("Redis", () => {
  test("without a server, the error reports where and why, and contains no password", async () => {
    const connecting = createRedisTransport({ url: `redis://ada:secret@127.0.0.1:${closedPort}` });

    const message = `Cannot connect to the Redis server at 127.0.0.1:${closedPort}: connect ECONNREFUSED 127.0.0.1:${closedPort}. Check that it is running and that the address is correct.`;
    await expect(connecting).rejects.toMatchObject({ ...notThere, message });
  });

  test("a value that is not a URL is refused with an example, and not repeated", async () => {
    const connecting = createRedisTransport({ url: "ada:secret@127.0.0.1" });

    const error: Error = await connecting.then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error.message).toBe("url must be an address such as redis://127.0.0.1:6379.");
    expect(JSON.stringify({ ...error, cause: error.cause })).not.toContain("secret");
  });

  test.skipIf(redis === undefined)("an invalid password is UPSTREAM_DENIED, which is not retryable", async () => {
    const { port } = redis!;

    const connecting = createRedisTransport({ url: `redis://:wrong@127.0.0.1:${port}` });

    const message = `The Redis server at 127.0.0.1:${port} refused the connection: WRONGPASS invalid username-password pair or user is disabled. Pass a valid user and password in \`url\` or \`connect\`.`;
    await expect(connecting).rejects.toMatchObject({ ...denied, message });
  });

  test.skipIf(redis === undefined)("a missing password is UPSTREAM_DENIED too, and leaves no connection", async () => {
    const { port } = redis!;
    const admin = await createClient({ url: `redis://:right@127.0.0.1:${port}` }).connect();
    onTestFinished(() => admin.destroy());

    const connecting = createRedisTransport({ url: `redis://127.0.0.1:${port}` });

    await expect(connecting).rejects.toMatchObject({
      ...denied,
      message: expect.stringContaining("NOAUTH Authentication required. Pass a valid user and password"),
    });
    await vi.waitFor(async () => expect(await admin.clientList()).toHaveLength(1), 10_000);
  });
});

describe("a Redis user with restricted rights", () => {
  const open = async (user: string) =>
    new PendingRequestMap(await createRedisTransport({ url: `redis://${user}:pass@127.0.0.1:${redis!.port}` }));

  test.skipIf(redis === undefined)(
    "receives that from its calls and from serving, and that trying again does not help",
    async () => {
      const admin = await createClient({ url: `redis://:right@127.0.0.1:${redis!.port}` }).connect();
      onTestFinished(() => admin.destroy());
      const rules = ["on", ">pass", "~*", "&*", "+@all"];
      await admin.aclSetUser("caller", [...rules, "-smembers"]);
      await admin.aclSetUser("worker", [...rules, "-sadd"]);
      await using caller = await open("caller");
      await using worker = await open("worker");
      const registry = new OperationRegistry();
      registry.register(operation("echo", (input) => input));

      const called = await outcome(caller.call("test.echo", 1));
      const served = await outcome(worker.handle(buildCallHandler({ registry, callMap: worker })).ready);

      expect(called).toMatchObject({
        ...denied,
        message: expect.stringMatching(/^The Redis server refused the request: .*'smembers'/),
      });
      expect(served).toMatchObject({
        ...denied,
        message: expect.stringMatching(/^The Redis server refused the request: .*'sadd'/),
      });
    },
  );
});

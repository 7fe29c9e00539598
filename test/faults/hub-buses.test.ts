import { generateKeyPairSync, randomBytes } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import type { SourceConfig } from "../../src/hub/index.ts";
import { callAs, idsOf, setUpHubs, shopOperation, whenState } from "../../src/hub/testing.ts";
import { createRegistry, OperationRegistry } from "../../src/registry/index.ts";
import type { Transport } from "../../src/transport/index.ts";
import { createNATSTransport } from "../../src/transport/nats/index.ts";
import { createRedisTransport } from "../../src/transport/redis/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";

const nats = await startNATS();
const redis = await startRedis();
afterAll(() => Promise.all([nats?.close(), redis?.close()]));

const tests = setUpHubs();
const { start, writeModule, closeLater } = tests;

type Trust = { sign?: string; trustedBus?: boolean; serve?: boolean };

const heartbeat = 1_000;
const prefix = "two-hubs";
const servers = `127.0.0.1:${nats?.port}`;
const url = `redis://127.0.0.1:${redis?.port}`;

interface Bus {
  name: string;
  toSource(trust: Trust): SourceConfig;
  connect(): Promise<Transport>;
}

const buses: Bus[] = [
  {
    name: "NATS",
    toSource: (trust) => ({ nats: { servers, heartbeat, prefix, ...trust } }),
    connect: () => createNATSTransport({ servers, heartbeat, prefix }),
  },
  {
    name: "Redis",
    toSource: (trust) => ({ redis: { url, heartbeat, prefix, ...trust } }),
    connect: () => createRedisTransport({ url, heartbeat, prefix }),
  },
];

const secret = randomBytes(32).toString("hex");
const { privateKey } = generateKeyPairSync("ed25519", {
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

describe.skipIf(nats === undefined || redis === undefined).each(buses)("two hubs on $name", (bus) => {
  /** Starts a hub with the module `<name>.who`, which is served on the bus. */
  const startHub = async (name: string, trust: Trust, options: { requiredScopes?: string[] } = {}) => {
    await writeModule("who", `(_input, { identity }) => "${name} for " + identity?.id`, name, name);
    const accessControl = { requiredScopes: options.requiredScopes ?? [] };
    return start({
      sources: { [name]: { modules: name, accessControl }, fleet: bus.toSource({ serve: true, ...trust }) },
    });
  };

  test.each<[string, Trust]>([
    ["a secret", { sign: secret }],
    ["a private key", { sign: privateKey }],
    ["a trusted bus", { trustedBus: true }],
  ])("with %s call each other as the caller, and export nothing that came from the bus", async (_trust, trust) => {
    const [one, two] = await Promise.all([startHub("one", trust), startHub("two", trust, { requiredScopes: ["two"] })]);
    await Promise.all([one.registry.waitFor("two.who"), two.registry.waitFor("one.who")]);

    expect([await callAs(["fleet", "two"], one, "two.who"), await callAs(["fleet"], two, "one.who")]).toEqual([
      "two for ada",
      "one for ada",
    ]);
    expect([await callAs(["fleet"], one, "two.who"), await callAs(["two"], one, "two.who")]).toEqual([
      "ACCESS_DENIED",
      "ACCESS_DENIED",
    ]);
    // Another peer receives each operation from its own hub only, and none that manage a hub.
    const peers = closeLater(new OperationRegistry());
    await peers.follow(peerSource(await bus.connect()));
    const ids = () =>
      peers
        .getAllSpecs()
        .map(({ namespace, name }) => `${namespace}.${name}`)
        .sort();
    await expect.poll(ids).toEqual(["one.who", "two.who"]);
    await two.close();
    await expect.poll(ids).toEqual(["one.who"]);
    await expect.poll(() => idsOf(one)).toEqual(["one.who"]);
  });

  test("with different keys refuse each other's callers", async () => {
    const one = await startHub("one", { sign: secret });
    const two = await startHub("two", { sign: randomBytes(32).toString("hex") }, { requiredScopes: ["two"] });
    await one.registry.waitFor("two.who");

    expect(await callAs(["fleet", "two"], one, "two.who")).toBe("ACCESS_DENIED");
    expect(await callAs(["two"], two, "two.who")).toBe("two for ada");
  });
});

describe.skipIf(nats === undefined)("a hub on NATS", () => {
  const fleet = { nats: { servers, heartbeat, prefix: "worker", trustedBus: true } };

  test("imports a worker that joins later, and loses it when it leaves", async () => {
    const hub = await start({ sources: { fleet } });
    expect(hub.sources()).toMatchObject([{ name: "fleet", kind: "nats", status: "ready", operations: 0 }]);
    const registry = createRegistry({ operations: [shopOperation("stock", () => 7)] });
    const worker = closeLater(new PendingRequestMap(await createNATSTransport(fleet.nats)));
    await worker.handle(buildCallHandler({ registry, callMap: worker })).ready;
    await hub.registry.waitFor("shop.stock");
    expect([await callAs(["fleet"], hub, "shop.stock"), await callAs([], hub, "shop.stock")]).toEqual([
      7,
      "ACCESS_DENIED",
    ]);

    await worker.close();
    await expect.poll(() => idsOf(hub)).toEqual([]);
  });

  test("whose server is down retries, reports the state, and continues when it is back", async () => {
    await nats!.kill();
    const hub = await start({ sources: { fleet } });
    expect(hub.sources()).toMatchObject([
      { name: "fleet", status: "retrying", reason: expect.stringContaining("NATS") },
    ]);

    await nats!.start();
    await whenState(hub, "fleet", { status: "ready" });
    const lost = whenState(hub, "fleet", { status: "retrying" });
    await nats!.kill();
    await lost;
    await nats!.start();
    await whenState(hub, "fleet", { status: "ready" });
    const registry = createRegistry({ operations: [shopOperation("stock", () => 7)] });
    const worker = closeLater(new PendingRequestMap(await createNATSTransport(fleet.nats)));
    await worker.handle(buildCallHandler({ registry, callMap: worker })).ready;
    await hub.registry.waitFor("shop.stock");
    expect(await callAs(["fleet"], hub, "shop.stock")).toBe(7);
  });

  test("that is restarted by a reload serves its operations again", async () => {
    await writeModule("one", "() => 1");
    const sources = { tasks: { modules: "operations", accessControl: { requiredScopes: [] } } };
    const hub = await start({ sources: { ...sources, fleet: { nats: { ...fleet.nats, serve: true } } } });
    const peers = closeLater(new OperationRegistry());
    await peers.follow(peerSource(await createNATSTransport({ ...fleet.nats, prefix: "other" })));

    await hub.reload({ sources: { ...sources, fleet: { nats: { ...fleet.nats, serve: true, prefix: "other" } } } });
    await peers.waitFor("tasks.one");

    expect((await peers.execute("tasks.one")).data).toBe(1);
  });
});

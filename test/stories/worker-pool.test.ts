import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OperationRegistry, peerSource, subscribe } from "../../src/index.ts";
import { type BundledModule, bundleModule } from "../../src/transport/testing.ts";
import { createWorkerPool } from "../../src/transport/worker/index.ts";

let worker: BundledModule;
beforeAll(async () => {
  worker = await bundleModule(new URL("../support/pool-worker.ts", import.meta.url));
});
afterAll(() => worker[Symbol.asyncDispose]());

const ada = { id: "ada", scopes: ["work"] };

describe.each(["thread", "process"] as const)("a pool of %ss behind a registry", (kind) => {
  test("is one line, works immediately, keeps access rules, and closes with the registry", async () => {
    const registry = new OperationRegistry();
    const pool = await createWorkerPool(worker.url, { kind, size: 2 });
    await registry.follow(peerSource(pool, { trustedBus: true }));

    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => registry.execute<{ by: string; where: string }>("test.who", {}, { identity: ada })),
    );
    const denied = await registry
      .execute("test.who", {}, { identity: { id: "eve", scopes: [] } })
      .catch(({ code }) => code);
    const counted: unknown[] = [];
    for await (const { data } of subscribe(registry, "test.count", { upTo: 3 })) counted.push(data);
    await registry.close();

    expect(new Set(answers.map(({ data }) => data.where)).size).toBe(2);
    expect(new Set(answers.map(({ data }) => data.by))).toEqual(new Set(["ada"]));
    expect([denied, counted]).toEqual(["ACCESS_DENIED", [1, 2, 3]]);
    expect([registry.list(), pool.size]).toEqual([[], 0]);
  });

  test("yields to an operation of the registry, and serves again when that is removed", async () => {
    await using registry = new OperationRegistry();
    await registry.follow(peerSource(await createWorkerPool(worker.url, { kind, size: 1 }), { trustedBus: true }));
    const { handler: _handler, ...spec } = registry.get("test.who")!;
    const answer = async () =>
      (await registry.execute<{ where: string }>("test.who", {}, { identity: ada })).data.where;

    registry.register({ ...spec, handler: () => ({ where: "here" }) });
    const local = await answer();
    registry.unregister("test.who");

    expect(local).toBe("here");
    expect(await answer()).toMatch(/^\d+:\d+$/);
  });
});

import { expect, test } from "vitest";
import { createClientFactory, type RedisClient } from "./client.ts";

type Strategy = (retries: number, cause: Error) => number | false | Error;

/** The strategy that clients get which are made like one with `strategy`. */
async function strategyFrom(strategy: Strategy): Promise<Strategy> {
  let given: { socket?: { reconnectStrategy?: Strategy } } = {};
  const client = {
    options: { socket: { reconnectStrategy: strategy } },
    duplicate(overrides: object) {
      given = overrides;
      return { destroy() {} } as Partial<RedisClient> as RedisClient;
    },
  };
  const createClient = await createClientFactory({ client, heartbeat: 1_000 });
  createClient();
  return given.socket!.reconnectStrategy!;
}

test.each([0, -5, Number.NaN, 3])("a strategy that waits %d ms between attempts waits longer", async (delay) => {
  const strategy = await strategyFrom(() => delay);

  expect(strategy(1, new Error("lost"))).toBe(40);
});

test.each([false as const, new Error("enough"), 70])("a strategy that returns %s is followed", async (result) => {
  const strategy = await strategyFrom(() => result);

  expect(strategy(1, new Error("lost"))).toBe(result);
});

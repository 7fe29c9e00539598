import { afterAll, test } from "vitest";
import { createRedisTransport } from "../../src/transport/redis/index.ts";
import { startRedis } from "../services/redis.ts";
import { describeStories } from "../stories/calls.ts";
import { createBusNetworks } from "./bus-network.ts";
import { describeTransport } from "./transport.ts";

const service = await startRedis();
afterAll(() => service?.close());

if (service === undefined) test.skip("Redis as a transport: there is no redis-server");
else {
  const connect = (port: number, prefix: string) =>
    createRedisTransport({
      url: `redis://127.0.0.1:${port}`,
      prefix,
      heartbeat: 5_000,
      limits: { maxMessage: 64 * 1024 },
    });
  const createNetwork = createBusNetworks(service, connect);
  describeStories("over Redis", createNetwork);
  describeTransport("redis", createNetwork);
}

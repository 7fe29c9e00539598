import { afterAll, test } from "vitest";
import { startRedis } from "../services/redis.ts";
import { describeFaults } from "./suite.ts";

const service = await startRedis();
afterAll(() => service?.close());

if (service === undefined) test.skip("faults on redis: there is no redis-server");
else describeFaults("redis", service);

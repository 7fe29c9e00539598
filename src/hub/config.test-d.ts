import { expectTypeOf, test } from "vitest";
import type { NATSTransportOptions } from "../transport/nats/index.ts";
import type { RedisTransportOptions } from "../transport/redis/index.ts";
import type { HubConfig, ResolvedConfig } from "./config.ts";

type ResolvedSource<Kind extends string> = Extract<
  NonNullable<ResolvedConfig["sources"]>[string],
  Record<Kind, unknown>
>;

test("a resolved configuration is a configuration, and its parts are options of transports", () => {
  expectTypeOf<ResolvedConfig>().toExtend<HubConfig>();
  expectTypeOf<ResolvedSource<"nats">["nats"]>().toExtend<NATSTransportOptions>();
  expectTypeOf<ResolvedSource<"redis">["redis"]>().toExtend<RedisTransportOptions>();
});

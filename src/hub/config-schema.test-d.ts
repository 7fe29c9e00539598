import { expectTypeOf, test } from "vitest";
import type { NATSTransportOptions } from "../transport/nats/index.ts";
import type { RedisTransportOptions } from "../transport/redis/index.ts";
import type { HubConfig, ResolvedConfig } from "./config.ts";
import type { DescribedConfig } from "./config-schema.ts";

/** A type without functions and `readonly`; `connect` and `provider` may be any object. */
type Shape<T> = T extends (...args: never[]) => unknown
  ? never
  : T extends readonly (infer Item)[]
    ? Shape<Item>[]
    : T extends object
      ? { -readonly [K in keyof T]: K extends "connect" | "provider" ? object : Shape<T[K]> }
      : T;

/** A {@link Shape} whose members are all required, so that a missing key is a difference. */
type Keys<T> = T extends (infer Item)[] ? Keys<Item>[] : T extends object ? { [K in keyof T]-?: Keys<T[K]> } : T;

test("the description of a configuration has the keys and types of HubConfig", () => {
  expectTypeOf<Shape<DescribedConfig>>().toExtend<Shape<ResolvedConfig>>();
  expectTypeOf<Shape<ResolvedConfig>>().toExtend<Shape<DescribedConfig>>();
  expectTypeOf<Keys<Shape<DescribedConfig>>>().toExtend<Keys<Shape<ResolvedConfig>>>();
  expectTypeOf<Keys<Shape<ResolvedConfig>>>().toExtend<Keys<Shape<DescribedConfig>>>();
});

type ResolvedSource<Kind extends string> = Extract<
  NonNullable<ResolvedConfig["sources"]>[string],
  Record<Kind, unknown>
>;

test("a resolved configuration is a configuration, and its parts are options of transports", () => {
  expectTypeOf<ResolvedConfig>().toExtend<HubConfig>();
  expectTypeOf<ResolvedSource<"nats">["nats"]>().toExtend<NATSTransportOptions>();
  expectTypeOf<ResolvedSource<"redis">["redis"]>().toExtend<RedisTransportOptions>();
});

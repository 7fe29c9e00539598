export type { RedisClient, RedisClientTemplate } from "./client.ts";
export { createRedisTransport, type RedisTransport, type RedisTransportOptions } from "./redis.ts";

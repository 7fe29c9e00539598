import { ensureProgram } from "../scripts/ensure-program.ts";

/** Fetches the brokers before the first test, because a download may take longer than a test has. */
export default async function setup(): Promise<void> {
  await Promise.all([ensureProgram("redis-server"), ensureProgram("nats-server")]);
}

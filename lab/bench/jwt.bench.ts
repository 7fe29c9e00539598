import { deepStrictEqual } from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { startNATS } from "../../test/services/nats.ts";
import { importBuilt, operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { expected, identity, input, Task, TaskInput } from "./task-operation.ts";

const { createJWTSigner } = await importBuilt<typeof import("../../src/jwt/index.ts")>("jwt/index.js");
const { createNATSTransport } =
  await importBuilt<typeof import("../../src/transport/nats/index.ts")>("transport/nats/index.js");

const concurrency = 64;
const audience = "bench";

interface Way {
  prefix: string;
  sign?: { key: JWK; audience: string };
  check?: { key: JWK; audience: string };
}

/** Measures calls over NATS with signed identities against the same calls on a trusted bus. */
export async function run(): Promise<Row[]> {
  const service = await startNATS();
  if (service === undefined) return [];
  const ways = await createWays();
  const schemas = JSON.stringify({ inputSchema: TaskInput, outputSchema: Task });
  const file = fileURLToPath(new URL("jwt-peer.mjs", import.meta.url));
  const worker = fork(file, [String(service.port), schemas, JSON.stringify(ways)], { execArgv: [] });
  await once(worker, "message");

  const maps = await Promise.all(
    ways.map(async ({ prefix, sign }) => {
      const transport = await createNATSTransport({ servers: `127.0.0.1:${service.port}`, prefix });
      const rules = sign === undefined ? { trustedBus: true } : { sign: await createJWTSigner(sign) };
      return new operations.PendingRequestMap(transport, rules);
    }),
  );
  const blocks = maps.map((map) => concurrently(() => map.call("task.create", input, { identity })));
  for (const block of blocks) deepStrictEqual(((await block(1)) as { data: unknown }).data, expected);
  const [trusted, secret, pair] = blocks as [Block, Block, Block];
  const options = { blockTime: 150, rounds: 15, warmUp: 1_500 };
  const measured = await measure(trusted, { secret, pair }, options);

  await Promise.all(maps.map((map) => map.close()));
  worker.disconnect();
  await service.close();
  const row = (work: string, { ratio, ns }: { ratio: number; ns: number }): Row => ({
    work,
    ratio,
    note: `${formatTime(ns)} a call, on a trusted bus ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`,
  });
  return [
    row("64 calls at once over NATS, signed with HS256", measured.cases.secret),
    row("64 calls at once over NATS, signed with Ed25519", measured.cases.pair),
  ];
}

async function createWays(): Promise<Way[]> {
  const pair = await generateKeyPair("EdDSA", { extractable: true });
  const own = await exportJWK(pair.privateKey);
  const shared = await exportJWK(pair.publicKey);
  const secret: JWK = { kty: "oct", k: Buffer.alloc(32, 7).toString("base64url") };
  const way = (prefix: string, signing: JWK, checking: JWK): Way => ({
    prefix,
    sign: { key: signing, audience },
    check: { key: checking, audience },
  });
  return [{ prefix: "trusted" }, way("secret", secret, secret), way("pair", own, shared)];
}

function concurrently(call: () => Promise<unknown>): Block {
  return async (times) => {
    let left = times;
    let last: unknown;
    const loop = async () => {
      while (left-- > 0) last = await call();
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
    return last;
  };
}

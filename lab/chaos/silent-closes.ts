import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { bundleProgram } from "../../src/transport/testing.ts";
import type { Recorder } from "../../test/history/index.ts";
import { startProxy } from "../../test/services/proxy.ts";
import type { Fault } from "./arena.ts";
import type { Random } from "./random.ts";
import { closeTimeout } from "./settings.ts";
import type { SilentPeerOrder } from "./silent-peer.ts";
import { within } from "./within.ts";

const program = new URL("silent-peer.ts", import.meta.url);
/** How long the broker is silent before the peer closes, in ms: until after the driver has begun to reconnect. */
const silence = { shortest: 500, longest: 22_000 };

/**
 * Separate peers, one at a time, that close while their broker does not respond. Each process must end without a signal.
 * They serve nothing that others call, so the rest of the arena is not disturbed and the silence may be long.
 */
export function createSilentCloses(
  transport: "nats" | "redis",
  port: number,
  recorder: Recorder,
): { fault: Fault; settled(): Promise<void> } {
  let running: Promise<void> | undefined;
  let count = 0;
  const fault: Fault = {
    name: "silent at close",
    weight: 2,
    isPossible: () => running === undefined,
    async inject(random) {
      const who = `${transport} silent peer ${++count}`;
      running = closeInSilence(who, transport, port, random, recorder).finally(() => {
        running = undefined;
      });
      return () => {};
    },
  };
  return { fault, settled: async () => running };
}

async function closeInSilence(
  who: string,
  transport: "nats" | "redis",
  port: number,
  random: Random,
  recorder: Recorder,
): Promise<void> {
  const link = await startProxy(port);
  const order: SilentPeerOrder = { transport, port: link.port };
  const child = fork(await bundleProgram(program), [JSON.stringify(order)], { execArgv: [] });
  const exited = once(child, "exit");
  const isServing = await Promise.race([once(child, "message").then(() => true), exited.then(() => false)]);
  // The broker may be away just now: then there is nothing to close.
  if (isServing) {
    link.blackhole();
    await delay(random.integer(silence.shortest, silence.longest));
    child.send("close");
    const code = await within(closeTimeout, exited).then(
      ([code, signal]) => (code ?? signal) as number | string,
      () => "it does not end",
    );
    recorder.record({ kind: "closed", who, left: code === 0 ? [] : [`exit code: ${code}`] });
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  }
  await link.close();
}

import { setTimeout as delay } from "node:timers/promises";
import type { Proxy as Link } from "../../test/services/proxy.ts";
import { Breakables, type Fault } from "./arena.ts";
import type { Caller } from "./caller.ts";
import type { Post } from "./post.ts";
import type { Random } from "./random.ts";
import { busHeartbeat } from "./settings.ts";

/** The longest delay of a slow link, in ms, each way. */
const longestDelay = 150;

/** Calls that a worker dies with: how many, their deadline, and how old they are at most when it dies. Times in ms. */
const earlyDeath = { calls: 4, timeout: 20_000, latest: 2 * busHeartbeat };

/** What can happen to links: cut, one way or both, slow, reset. */
export function createLinkFaults(links: readonly Link[]): Fault[] {
  const breakable = new Breakables(links);
  const fault = (name: string, damage: (link: Link, random: Random) => void) =>
    breakable.createFault(name, 2, (link, random) => {
      damage(link, random);
      return () => link.heal();
    });
  return [
    fault("link cut", (link) => link.blackhole()),
    fault("link cut one way", (link, random) => link.blackhole(random.pick(["up", "down"]))),
    fault("link slow", (link, random) => link.delay(random.integer(10, longestDelay))),
    fault("link reset", (link) => link.reset()),
  ];
}

/** What can happen to worker processes: killed, stopped for a while, restarted with or without a gap. */
export function createWorkerFaults(
  posts: readonly Post[],
  relief: Parameters<Post["relieve"]>[0],
  callers: () => readonly Caller[],
): Fault[] {
  const breakable = new Breakables(posts);
  return [
    breakable.createFault("worker killed early", 3, async (post, random) => {
      const waiting = callers();
      const wish = { operation: "chaos.hang", input: {}, timeout: earlyDeath.timeout };
      for (let count = 0; count < earlyDeath.calls && waiting.length > 0; count++) void random.pick(waiting).call(wish);
      await delay(random.integer(0, earlyDeath.latest));
      post.kill();
      return () => post.start();
    }),
    breakable.createFault("worker killed", 3, (post) => {
      post.kill();
      return () => post.start();
    }),
    breakable.createFault("worker stopped", 3, (post) => {
      post.freeze();
      return () => post.thaw();
    }),
    breakable.createFault("worker restarted", 2, async (post) => {
      await post.relieve(relief);
      return () => {};
    }),
  ];
}

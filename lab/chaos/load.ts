import type { Caller, StreamWish, Wish } from "./caller.ts";
import { goodToken, secretScope } from "./operations.ts";
import type { Random } from "./random.ts";
import { longestDeadline } from "./settings.ts";

/** A kind of call, and how often it is made. */
interface Kind {
  weight: number;
  run(caller: Caller, random: Random): Promise<unknown>;
}

const kinds: readonly Kind[] = [
  call(40, (random) => ({ operation: "chaos.echo", input: {}, ...deadline(random) })),
  call(3, () => ({ operation: "chaos.echo", input: {} })),
  call(12, (random) => ({
    operation: "chaos.slow",
    input: { ms: random.integer(1, 600) },
    ...deadline(random),
  })),
  call(5, (random) => ({ operation: "chaos.hang", input: {}, timeout: random.integer(200, 2_000) })),
  // Long enough to settle before its deadline when its worker is killed.
  call(3, () => ({ operation: "chaos.hang", input: {}, timeout: longestDeadline })),
  call(12, (random) => ({
    operation: "chaos.again",
    input: { ms: random.integer(0, 300) },
    ...deadline(random),
  })),
  call(8, (random) => ({
    operation: random.pick(["chaos.echo", "chaos.slow", "chaos.hang", "chaos.again"]),
    input: { ms: random.integer(1, 300) },
    abortAfter: random.integer(0, 60),
    ...deadline(random),
  })),
  call(3, (random) => ({
    operation: "chaos.echo",
    input: { text: "x".repeat(random.integer(10_000, 300_000)) },
    ...deadline(random),
  })),
  call(2, (random) => ({ operation: "chaos.secret", input: {}, token: goodToken, ...deadline(random) })),
  call(5, (random) => ({
    operation: "chaos.secret",
    input: {},
    isDenied: true,
    ...deadline(random),
    ...random.pick([{}, { token: `wrong ${random.next()}` }, { identity: { id: "eve", scopes: [secretScope] } }]),
  })),
  call(2, (random) => ({ operation: "chaos.missing", input: {}, isDenied: true, ...deadline(random) })),
  stream(8, (random) => ({
    operation: "chaos.count",
    input: { values: random.integer(0, 150), ...(random.chance(0.3) ? { ms: random.integer(1, 20) } : {}) },
    ...(random.chance(0.5) ? { leaveAfter: random.integer(1, 40) } : {}),
    ...(random.chance(0.3) ? { pace: random.integer(1, 15) } : {}),
    ...(random.chance(0.3) ? deadline(random) : {}),
  })),
  // Open for so long that a worker has to drain with it.
  stream(1, (random) => ({
    operation: "chaos.count",
    input: { values: 1_000_000, ms: random.integer(10, 30) },
    leaveAfter: random.integer(200, 500),
  })),
];

/** Makes a random call and resolves when it has settled. */
export function makeCall(caller: Caller, random: Random): Promise<unknown> {
  return random.weighted(kinds).run(caller, random);
}

function call(weight: number, wish: (random: Random) => Wish): Kind {
  return { weight, run: (caller, random) => caller.call(wish(random)) };
}

function stream(weight: number, wish: (random: Random) => StreamWish): Kind {
  return { weight, run: (caller, random) => caller.subscribe(wish(random)) };
}

/** Mostly enough time, sometimes hardly any. */
function deadline(random: Random): { timeout: number } {
  return { timeout: random.chance(0.2) ? random.integer(1, 100) : random.integer(300, longestDeadline) };
}

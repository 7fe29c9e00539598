import { expect, test } from "vitest";
import { type Connection, type ConnectionState, type KeepConnectedOptions, KeptConnection } from "./keep-connected.ts";

type Report = Parameters<NonNullable<Connection["watch"]>>[0];

/** Keeps a connection whose attempts end as `attempt` says, and records its states. */
function keep(attempt: KeepConnectedOptions["attempt"], retry = { first: 1, max: 1 }) {
  const states: ConnectionState[] = [];
  const waiting: Array<() => void> = [];
  const kept = new KeptConnection({
    attempt,
    retry,
    explain: (problem) => ({ reason: String(problem), isTemporary: problem !== "broken" }),
    onChange: (state) => {
      states.push(state);
      for (const resolve of waiting.splice(0)) resolve();
    },
  });
  const until = async (isMet: (state: ConnectionState) => boolean) => {
    while (!isMet(kept.state)) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { kept, states, until, statuses: () => states.map(({ status }) => status) };
}

/** A connection whose state the test reports. */
function createConnection() {
  let report: Report = () => {};
  const connection: Connection = {
    watch: (listener) => {
      report = listener;
    },
  };
  return { connection, report: (...problem: Parameters<Report>) => report(...problem) };
}

test("a connection that was made is ready", async () => {
  const { kept, statuses } = keep(async () => ({}));

  expect(kept.state).toMatchObject({ status: "connecting" });
  await kept.start();

  expect(statuses()).toEqual(["ready"]);
  await kept.close();
  expect(kept.state.status).toBe("closed");
});

test("failed attempts are repeated, and report a reason and the time of the next one", async () => {
  const failures: unknown[] = ["away", "broken"];
  const { kept, states, until } = keep(async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return {};
  });

  await kept.start(); // The first attempt has ended, although it failed.
  await until(({ status }) => status === "ready");

  expect(states).toEqual([
    { status: "retrying", since: expect.any(Number), reason: "away", nextAttempt: expect.any(Number) },
    { status: "retrying", since: states[0]!.since, reason: "away" },
    { status: "failed", since: expect.any(Number), reason: "broken", nextAttempt: expect.any(Number) },
    { status: "failed", since: states[2]!.since, reason: "broken" },
    { status: "ready", since: expect.any(Number) },
  ]);
  await kept.close();
});

test("retry() ends the pause before the next attempt", async () => {
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    if (attempts === 1) throw new Error("away");
    return {};
  };
  const { kept, until } = keep(attempt, { first: 1_000_000, max: 1_000_000 });
  await kept.start();

  expect(kept.retry()).toBe(true);
  await until(({ status }) => status === "ready");

  expect(attempts).toBe(2);
  expect(kept.retry()).toBe(false);
  await kept.close();
});

test("an interruption is reported, and no attempt is made while the connection reconnects automatically", async () => {
  const { connection, report } = createConnection();
  let attempts = 0;
  const { kept, states } = keep(async () => {
    attempts += 1;
    return connection;
  });
  await kept.start();

  report("away");
  const interrupted = kept.state;
  report();

  expect(interrupted).toEqual({ status: "retrying", since: expect.any(Number), reason: "away" });
  expect(states.map(({ status }) => status)).toEqual(["ready", "retrying", "ready"]);
  expect(attempts).toBe(1);
  await kept.close();
});

test("a lost connection is made again, also if it is lost as soon as it is watched", async () => {
  const lost: Connection = { watch: (report) => report("lost", true) };
  const { connection, report } = createConnection();
  const made = [lost, connection, connection];
  const { kept, statuses, until } = keep(async () => made.shift()!);
  await kept.start();
  await until(({ status }) => status === "ready" && made.length === 1);

  report("lost", true);
  await until(({ status }) => status === "ready");

  expect(made).toEqual([]);
  expect(statuses()).toEqual(["ready", ...Array(3).fill("retrying"), "ready", ...Array(3).fill("retrying"), "ready"]);
  await kept.close();
});

test("a connection that comes back during the pause is not made again", async () => {
  const { connection, report } = createConnection();
  let attempts = 0;
  const { kept, until } = keep(async () => {
    attempts += 1;
    return connection;
  });
  await kept.start();

  report("lost", true);
  await until(({ nextAttempt }) => nextAttempt !== undefined);
  report();
  kept.retry();
  report("lost again", true);
  await until(({ status }) => status === "ready");

  expect(attempts).toBe(2);
  await kept.close();
});

test("close() cancels a running attempt, and no state follows", async () => {
  const { kept, states } = keep(
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const started = kept.start();

  await kept.close(new Error("stopped"));
  await started;

  expect(states).toEqual([{ status: "closed", since: expect.any(Number) }]);
});

test("close() ends a pause", async () => {
  const { kept } = keep(() => Promise.reject("away"), { first: 1_000_000, max: 1_000_000 });
  await kept.start();

  await kept.close();

  expect(kept.state).toEqual({ status: "closed", since: expect.any(Number) });
});

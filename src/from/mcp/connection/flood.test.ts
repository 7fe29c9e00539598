import { expect, test } from "vitest";
import { call, connect, isRunning, pidOf, program } from "./testing.ts";

test("calls are refused while a program leaves too much input unread, and succeed when it reads again", async () => {
  const source = `
    calls.stall = () => { process.stdin.pause(); return text("stalled"); };
    process.on("SIGUSR2", () => process.stdin.resume());
    setInterval(() => {}, 1e6);
  `;
  const connection = await connect({
    ...program(source),
    timeouts: { stop: 50, kill: 50 },
  });
  const pid = await pidOf(connection);
  await call(connection, "stall");
  const large = "x".repeat(1_000_000);

  const outcomes = Array.from({ length: 40 }, () => call(connection, "echo", { large }).catch((error) => error));
  const refused = await outcomes.at(-1)!;
  process.kill(pid, "SIGUSR2");
  const settled = await Promise.all(outcomes);

  expect(refused).toMatchObject({
    code: "LIMIT_EXCEEDED",
    message:
      'The MCP server "tiny" failed. The program does not read its input, and too many bytes are queued: the limit is 16777216. ' +
      "Try again later.",
    details: { server: "tiny", allowed: 16_777_216 },
    mayHaveRun: false,
  });
  const sent = settled.filter((outcome) => outcome === JSON.stringify({ large })).length;
  expect(sent).toBeGreaterThan(5);
  expect(sent).toBeLessThan(40);
  expect(settled.filter((outcome) => outcome.code === "LIMIT_EXCEEDED")).toHaveLength(40 - sent);
  expect(await call(connection, "echo", { again: true })).toBe('{"again":true}');
});

test("many calls that wait for a program to read print no warning about listeners", async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on("warning", listener);
  const source = 'calls.stall = () => { process.stdin.pause(); return text("stalled"); }; setInterval(() => {}, 1e6);';
  const connection = await connect({ ...program(source), timeouts: { stop: 50, kill: 50 } });
  await call(connection, "stall");

  const pending = Array.from({ length: 30 }, () =>
    call(connection, "echo", { large: "x".repeat(100_000) }).catch((error) => error.code),
  );
  await connection.close();

  expect(new Set(await Promise.all(pending))).toEqual(new Set(["UNAVAILABLE"]));
  await new Promise(setImmediate); // warnings are emitted on a later turn
  process.off("warning", listener);
  expect(warnings).toEqual([]);
});

test.each([
  ["without JSON", "x"],
  ["that only look like messages", '{"jsonrpc":'],
])("endless lines %s end the program, which is restarted", async (_, line) => {
  const source = `calls.chatter = () => {
    const lines = (${JSON.stringify(line)} + "\\n").repeat(5_000);
    const go = () => process.stdout.write(lines, go);
    go();
  }`;
  const connection = await connect({ ...program(source), limits: { lineBytes: 100_000 } });
  const pid = await pidOf(connection);

  await expect(call(connection, "chatter")).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });

  expect(await isRunning(pid)).toBe(false);
  expect(await call(connection, "echo", {})).toBe("{}");
});

test("a program may print more than the limit if it responds in between", async () => {
  const source = `
    const chatter = "a line of a log\\n".repeat(5_000);
    calls.work = (args, { id }) => void process.stdout.write(chatter, () => send({ id, result: text("done") }));
  `;
  const connection = await connect({ ...program(source), limits: { lineBytes: 20_000 } });
  const pid = await pidOf(connection);

  for (let round = 0; round < 20; round++) expect(await call(connection, "work")).toBe("done");

  expect(await pidOf(connection)).toBe(pid);
});

test("many calls with one signal print no warning about listeners", async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on("warning", listener);
  const source = 'calls.wait = (args, { id }) => void setTimeout(() => send({ id, result: text("done") }), 50);';
  const connection = await connect(program(source));
  const { signal } = new AbortController();

  await Promise.all(Array.from({ length: 30 }, () => connection.callTool({ name: "wait" }, { tool: {}, signal })));

  await new Promise(setImmediate); // warnings are emitted on a later turn
  process.off("warning", listener);
  expect(warnings).toEqual([]);
});

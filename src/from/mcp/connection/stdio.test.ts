import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openConnection } from "./index.ts";
import { call, connect, isRunning, pidOf, program, reaches } from "./testing.ts";

test("a program is started, called and ended", async () => {
  const connection = await connect(program());
  const pid = await pidOf(connection);

  const tools = await connection.listTools();
  const result = await connection.callTool({ name: "echo", arguments: { a: 1 } }, { tool: tools[0]! });
  const { state } = connection;
  await connection.close();

  expect(tools).toEqual([
    { name: "echo", inputSchema: { type: "object" } },
    { name: "pid", inputSchema: { type: "object" } },
  ]);
  expect(result).toEqual({ content: [{ type: "text", text: '{"a":1}' }] });
  expect(state).toEqual({
    status: "ready",
    error: undefined,
    restarts: 0,
    stderr: [],
    protocol: { era: "legacy", version: "2025-11-25" },
    server: { name: "tiny", version: "1.2.3" },
    capabilities: { tools: { listChanged: true } },
    instructions: undefined,
  });
  expect(connection.state.status).toBe("closed");
  expect(await isRunning(pid)).toBe(false);
});

test("arguments reach the program byte for byte, and no shell sees them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "operations-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "made-by-a-shell");
  const special = [
    `; touch ${file}`,
    `$(touch ${file})`,
    `\`touch ${file}\``,
    "two\nlines",
    "",
    "ünï",
    "'\"\\",
    "%PATH%",
  ];
  const { command, args } = program("calls.argv = () => text(JSON.stringify(process.argv.slice(1)))");

  const connection = await connect({ command, args: [...args!, "--", ...special] });

  expect(JSON.parse(await call(connection, "argv"))).toEqual(special);
  await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
});

test("the program receives the configured and the allowed variables only", async () => {
  process.env["OPERATIONS_TEST_SECRET"] = "canary";
  process.env["OPERATIONS_TEST_ALLOWED"] = "yes";
  onTestFinished(() => {
    delete process.env["OPERATIONS_TEST_SECRET"];
    delete process.env["OPERATIONS_TEST_ALLOWED"];
  });
  const source = program("calls.env = () => text(JSON.stringify(process.env))");

  const byDefault = await connect({ ...source, env: { GIVEN: "1" } });
  const allowed = await connect({ ...source, inheritEnv: ["OPERATIONS_TEST_ALLOWED"] });

  const environment = JSON.parse(await call(byDefault, "env"));
  expect(environment).toMatchObject({ GIVEN: "1", PATH: process.env["PATH"] });
  expect(Object.keys(environment)).not.toContain("OPERATIONS_TEST_SECRET");
  expect(JSON.parse(await call(allowed, "env"))).toEqual({ OPERATIONS_TEST_ALLOWED: "yes" });
});

test("the program runs in the configured folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "operations-"));
  onTestFinished(() => rm(folder, { recursive: true }));

  const connection = await connect({ ...program("calls.cwd = () => text(process.cwd())"), cwd: folder });

  expect(await call(connection, "cwd")).toBe(folder);
});

test("the last lines of stderr are kept, without escapes and secrets", async () => {
  const source = `
    for (let i = 0; i < 200; i++) console.error("line " + i);
    console.error("\\u001b[31mred\\u001b[0m token is " + process.env.API_TOKEN);
    process.stderr.write("x".repeat(5_000_000) + "\\n");
    process.stderr.write("unfinished");
    calls.said = () => text("all");
  `;
  const connection = await connect({ ...program(source), env: { API_TOKEN: "s3cr3t-t0ken" } });
  await expect.poll(() => connection.state.stderr.at(-1)).toBe("unfinished");

  const { stderr } = connection.state;

  expect(stderr).toHaveLength(50);
  expect(stderr.slice(-4)).toEqual(["line 199", "red token is [redacted]", "x".repeat(500), "unfinished"]);
});

test("values of variables that may be secret are removed from stderr, whatever their name", async () => {
  const env = {
    DATABASE_URL: "postgres://ada:pw@db/x",
    DSN: "Xy12-zz",
    MODE: "verbose",
    FOLDER: "/data",
    PORT: "8080",
  };
  const names = JSON.stringify(Object.keys(env));
  const source = `console.error(${names}.map((name) => process.env[name]).join(" ")); calls.said = () => text("all");`;
  const connection = await connect({ ...program(source), env });

  await expect.poll(() => connection.state.stderr).toEqual(["[redacted] [redacted] verbose /data 8080"]);
});

test("a missing program is UNAVAILABLE with a hint what to check", async () => {
  const opening = openConnection("absent", { command: "no-such-program-here", args: ["--token", "s3cr3t"] });

  await expect(opening).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      'The MCP server "absent" failed. The program "no-such-program-here" was not found. Check "command" and PATH, whose relative entries are ignored.',
    retryable: false,
    mayHaveRun: false,
  });
});

test("a missing working directory is named", async () => {
  const opening = openConnection("absent", { ...program(), cwd: "/no/such/folder" });

  await expect(opening).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining('"/no/such/folder"'),
  });
});

test("an argument with a NUL character is refused and not shown", async () => {
  const opening = openConnection("special", { command: process.execPath, args: ["s3cr3t\0"] });

  const error = await opening.catch((reason) => reason);
  expect(error).toMatchObject({ code: "VALIDATION_ERROR", mayHaveRun: false });
  expect(`${error.message}${JSON.stringify(error)}${error.cause}`).not.toContain("s3cr3t");
});

test("a program that ends immediately is UNAVAILABLE, with its code and its last output", async () => {
  const opening = openConnection("broken", {
    command: process.execPath,
    args: ["-e", 'console.error("cannot open the database"); process.exit(3)'],
  });

  await expect(opening).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      'The MCP server "broken" failed. The program ended with code 3 before it was ready. Its last output: cannot open the database',
    details: { server: "broken", exitCode: 3, signal: null, stderr: ["cannot open the database"] },
    mayHaveRun: false,
  });
});

test("a program that does not respond is a TIMEOUT, and is ended", async () => {
  const args = ["-e", "console.error(process.pid); process.stdin.resume(); setInterval(() => {}, 1e6)"];
  let error: { details: { stderr: string[] } };
  let time = 500;
  // On a busy machine, a program takes long to write its first line.
  do {
    time *= 2;
    const config = { command: process.execPath, args, timeouts: { connect: time, stop: 50 } };
    error = await openConnection("silent", config).then(
      () => Promise.reject(new Error("It is not silent.")),
      (reason) => reason,
    );
  } while (error.details.stderr.length === 0);

  expect(error).toMatchObject({
    code: "TIMEOUT",
    message: `The MCP server "silent" failed. The server was not ready within ${time} ms. Raise "timeouts.connect" if it needs longer to start.`,
  });
  expect(await isRunning(Number(error.details.stderr[0]))).toBe(false);
});

test("noise on stdout is skipped", async () => {
  const source = `
    process.stdout.write("Welcome to tiny!\\r\\n\\n{\\"half\\": \\n[1,2]\\nnull\\n{\\"jsonrpc\\":\\"1.0\\"}\\n");
    calls.noisy = (args, { id }) => {
      process.stdout.write("thinking...\\n 10 % {");
      send({ id: 9999, result: {} });
      send({ method: "notifications/unknown" });
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: text("done") }) + "\\r\\n");
    };
  `;
  const connection = await connect(program(source));

  expect(await call(connection, "noisy")).toBe("done");
  expect(await call(connection, "echo", {})).toBe("{}");
});

test("several responses may arrive in one line", async () => {
  const source = `
    const waiting = [];
    calls.both = ({ n }, { id }) => {
      waiting.push({ jsonrpc: "2.0", id, result: text(String(n)) });
      if (waiting.length === 2) process.stdout.write(JSON.stringify(waiting) + "\\n");
    };
  `;
  const connection = await connect(program(source));

  expect(await Promise.all([1, 2].map((n) => call(connection, "both", { n })))).toEqual(["1", "2"]);
});

test("progress in the same chunk as the response is reported before it", async () => {
  const source = `calls.work = (args, { id, params }) => {
    const { progressToken } = params._meta;
    const progress = [1, 2].map((progress) => ({ method: "notifications/progress", params: { progressToken, progress } }));
    const messages = [...progress, { id, result: text("done") }].map((message) => ({ jsonrpc: "2.0", ...message }));
    process.stdout.write(messages.map((message) => JSON.stringify(message) + "\\n").join(""));
  }`;
  const connection = await connect(program(source));
  const received: unknown[] = [];

  const result = await connection.callTool(
    { name: "work" },
    { tool: {}, onprogress: ({ progress }) => void received.push(progress) },
  );

  expect([...received, result]).toEqual([1, 2, { content: [{ type: "text", text: "done" }] }]);
});

test("a message is joined from any chunks", async () => {
  const source = `
    calls.slow = (args, { id }) => {
      const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result: text("größe 🎉") }) + "\\n");
      let at = 0;
      const next = () => { if (at < bytes.length) process.stdout.write(bytes.subarray(at, ++at), () => setImmediate(next)); };
      next();
    };
  `;
  const connection = await connect(program(source));

  expect(await call(connection, "slow")).toBe("größe 🎉");
});

test("a message over the limit fails its own call only", async () => {
  const source = 'calls.big = ({ size }) => text("x".repeat(size))';
  const connection = await connect({ ...program(source), limits: { lineBytes: 100_000 } });
  const pid = await pidOf(connection);

  const big = call(connection, "big", { size: 200_000 });
  const small = call(connection, "big", { size: 90_000 });

  await expect(big).rejects.toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
    message: 'The MCP server "tiny" failed. The server sent a message of more than 100000 bytes.',
  });
  expect(await small).toHaveLength(90_000);
  expect(await pidOf(connection)).toBe(pid);
});

test("a message over the limit that is not a response is dropped", async () => {
  const source = `calls.shout = () => {
    send({ method: "notifications/message", params: { data: "x".repeat(200_000) } });
    send({ id: 0, method: "sampling/createMessage", params: { data: "x".repeat(200_000) } });
    return text("done");
  }`;
  const connection = await connect({ ...program(source), limits: { lineBytes: 100_000 } });

  expect(await call(connection, "shout")).toBe("done");
  expect(connection.state.restarts).toBe(0);
});

test("an endless line ends its program", async () => {
  const source = 'calls.endless = () => { const go = () => process.stdout.write("x".repeat(65536), go); go(); }';
  const connection = await connect({ ...program(source), limits: { lineBytes: 100_000 } });
  const pid = await pidOf(connection);

  await expect(call(connection, "endless")).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });

  expect(await isRunning(pid)).toBe(false);
  expect(await call(connection, "echo", {})).toBe("{}");
});

test("pending calls fail when the program ends, and it is restarted", async () => {
  const source = "calls.hang = () => undefined; calls.die = ({ how }) => process.kill(process.pid, how)";
  const connection = await connect(program(source));
  const pid = await pidOf(connection);
  const states: string[] = [];
  connection.onStateChange(({ status }) => states.push(status));
  const changed = new Promise<void>((resolve) => void connection.onToolsChanged(resolve));

  const pending = [call(connection, "hang"), call(connection, "die", { how: "SIGKILL" })];

  for (const lost of pending) {
    await expect(lost).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  }
  const next = await pidOf(connection);
  await changed;
  expect(next).not.toBe(pid);
  expect(connection.state).toMatchObject({ status: "ready", restarts: 1, error: undefined });
  expect(states).toEqual(["restarting", "ready"]);
});

test.each([["exit"], ["SIGSEGV"]])("a program that ends by %s is restarted", async (how) => {
  const source = `calls.die = ({ how }) => how === "exit" ? process.exit(7) : process.kill(process.pid, how)`;
  const connection = await connect(program(source));

  await expect(call(connection, "die", { how })).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });

  expect(await call(connection, "echo", { again: true })).toBe('{"again":true}');
});

test("a response that was written right before the end arrives", async () => {
  const source = 'calls.last = (args, { id }) => { send({ id, result: text("bye") }); process.exit(0); }';
  const connection = await connect(program(source));

  expect(await call(connection, "last")).toBe("bye");
});

test("a program that keeps ending has failed, with its last output", async () => {
  const folder = await mkdtemp(join(tmpdir(), "operations-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const source = `
    const fs = require("node:fs"), seen = ${JSON.stringify(join(folder, "seen"))};
    if (fs.existsSync(seen)) { console.error("the disk is full"); process.exit(1); }
    fs.writeFileSync(seen, "");
    calls.die = () => process.exit(1);
  `;
  const connection = await connect({ ...program(source), restart: { limit: 3, delay: 1 } });
  const failed = reaches(connection, "failed");

  const pending = call(connection, "die");
  await expect(pending).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await failed;

  expect(connection.state).toMatchObject({
    status: "failed",
    restarts: 3,
    stderr: ["the disk is full", "the disk is full", "the disk is full"],
    error: { code: "UNAVAILABLE", message: expect.stringContaining("Its last output: the disk is full") },
  });
  await expect(call(connection, "echo")).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  await rm(join(folder, "seen"));
  await connection.reconnect();
  expect(await call(connection, "echo", {})).toBe("{}");
});

test("a program is not restarted with restart: false", async () => {
  const connection = await connect({ ...program("calls.die = () => process.exit(1)"), restart: false });
  const failed = reaches(connection, "failed");

  await expect(call(connection, "die")).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
  await failed;

  expect(connection.state).toMatchObject({ status: "failed", restarts: 0 });
});

test("a program that ignores SIGTERM is killed", async () => {
  const source = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6);';
  const connection = await connect({ ...program(source), timeouts: { stop: 50, kill: 50 } });
  const pid = await pidOf(connection);

  await connection.close();

  expect(await isRunning(pid)).toBe(false);
});

test("descendants end with the program, also those that ignore SIGTERM", async () => {
  const source = `
    const { spawn } = require("node:child_process");
    const grandchildren = ["", 'process.on("SIGTERM", () => {});'].map((code) =>
      spawn(process.execPath, ["-e", code + "setInterval(() => {}, 1e6)"], { stdio: "inherit" }).pid);
    calls.family = () => text(JSON.stringify(grandchildren));
  `;
  const connection = await connect({ ...program(source), timeouts: { stop: 100, kill: 100 } });
  const family = [await pidOf(connection), ...JSON.parse(await call(connection, "family"))] as number[];

  await connection.close();

  expect(await Promise.all(family.map(isRunning))).toEqual([false, false, false]);
});

test("descendants of a wrapper end when the wrapper ends", async () => {
  const { command, args } = program();
  const connection = await connect({ command: "sh", args: ["-c", '"$0" "$@"; exit 0', command!, ...args!] });
  const pid = await pidOf(connection);

  await connection.close();

  expect(await isRunning(pid)).toBe(false);
});

test("closing while it starts leaves no process, and closing twice is allowed", async () => {
  const connection = await connect(program("calls.hang = () => undefined"));
  const pending = call(connection, "hang");
  const reconnecting = connection.reconnect();

  const closed = [connection.close(), connection.close()];

  await Promise.all([
    expect(pending).rejects.toMatchObject({ code: "UNAVAILABLE" }),
    expect(reconnecting).rejects.toMatchObject({ code: "ABORTED" }),
  ]);
  await Promise.all(closed);
  await expect(call(connection, "echo")).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: 'The connection to the MCP server "tiny" was closed.',
    mayHaveRun: false,
  });
});

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OperationRegistry, Type } from "@alkdev/operations";
import { MCPClientLoader } from "@alkdev/operations/from-mcp";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failureOf, fixtureServer, openFixture } from "../support/fixture-server.ts";
import { isAlive } from "../support/processes.ts";

const impatient = { stop: 50, kill: 100 };
const text = (value: string) => [{ type: "text", text: value }];

describe("a server that dies", () => {
  test.each(["exit", "SIGKILL", "SIGSEGV"])("by %s fails pending calls immediately, and starts again", async (how) => {
    const { call, client } = await openFixture(fixtureServer("crashes"));
    const pid = (await call("pid")).data;

    const pending = [call("hold"), call("hold"), call("crash", { how })].map(failureOf);

    for (const error of await Promise.all(pending)) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
    }
    expect(client.state.stderr).toEqual(["about to fail", "last words"]);
    expect((await call("pid")).data).not.toEqual(pid);
    expect(client.state).toMatchObject({ status: "ready", restarts: 1 });
  });

  test("too often is not restarted, and its last output is reported", async () => {
    const { call, client } = await openFixture({ ...fixtureServer("crashes"), restart: { limit: 2, delay: 1 } });

    for (let count = 0; count < 3; count++) await failureOf(call("crash"));
    const error = await failureOf(call("pid"));

    expect(error).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    expect(client.state).toMatchObject({ status: "failed", restarts: 2 });
    expect(client.state.stderr.slice(-2)).toEqual(["about to fail", "last words"]);
  });

  test("is not restarted with restart: false", async () => {
    const { call, client } = await openFixture({ ...fixtureServer("crashes"), restart: false });

    await failureOf(call("crash"));

    expect(await failureOf(call("pid"))).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    expect(client.state.status).toBe("failed");
  });
});

describe("a server that hangs", () => {
  test("is notified at the deadline, and responds to the next call", async () => {
    const { call } = await openFixture(fixtureServer("hangs"));

    const error = await failureOf(call("hang", {}, { deadline: Date.now() + 500 }));

    expect(error).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
    expect((await call("cancelled")).data).toEqual({ count: 1 });
  });

  test("is notified when the caller aborts, and its later response is dropped", async () => {
    const { call } = await openFixture(fixtureServer("hangs"));
    const controller = new AbortController();

    const hanging = failureOf(call("late", {}, { signal: controller.signal }));
    await call("cancelled");
    controller.abort();

    expect(await hanging).toMatchObject({ code: "ABORTED", mayHaveRun: true });
    expect((await call("cancelled")).data).toEqual({ count: 1 });
  });

  test("without a deadline ends by the configuration", async () => {
    const { call } = await openFixture({ ...fixtureServer("hangs"), timeouts: { request: 300 } });

    expect(await failureOf(call("hang"))).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
  });

  test("receives no call whose deadline has passed", async () => {
    const { call } = await openFixture(fixtureServer("hangs"));

    expect(await failureOf(call("hang", {}, { deadline: Date.now() - 1 }))).toMatchObject({ mayHaveRun: false });
    expect((await call("cancelled")).data).toEqual({ count: 0 });
  });
});

describe("noise on stdout", () => {
  test("banners, broken JSON and JSON that is not a message are skipped", async () => {
    const { call } = await openFixture(fixtureServer("garbage"));

    expect((await call("echo", { message: "one" })).data).toEqual(text("one"));
    expect((await call("echo", { message: "two" })).data).toEqual(text("two"));
  });

  test("a response is found behind an incomplete line", async () => {
    const { call } = await openFixture(fixtureServer("garbage"));

    expect((await call("unfinished")).data).toEqual(text("found"));
    expect((await call("echo", { message: "next" })).data).toEqual(text("next"));
  });

  test.each(["bytes", "crlf", "padded"])("responses that are split and padded as %s arrive whole", async (tool) => {
    const { call } = await openFixture(fixtureServer("unexpected-lines"));

    expect((await call(tool)).data).toEqual(text("größe 🚀 \u2028 end"));
  });

  test("responses that arrive together reach their callers", async () => {
    const { call } = await openFixture(fixtureServer("unexpected-lines"));

    const answers = await Promise.all([call("together"), call("together"), call("together")]);

    expect(answers.map(({ data }) => data)).toEqual(Array(3).fill(text("größe 🚀 \u2028 end")));
  });

  test("a response just below the limit arrives; one above it fails alone", async () => {
    const { call, client } = await openFixture(fixtureServer("giant-line"));
    const limit = 10 * 1024 * 1024;

    const fitting = await call("giant", { bytes: limit - 200 });
    const error = await failureOf(call("giant", { bytes: limit }));
    const after = await call("giant", { bytes: 3 });

    expect((fitting.data as Array<{ text: string }>)[0]!.text).toHaveLength(limit - 200);
    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: true });
    expect(after.data).toEqual(text("xxx"));
    expect(client.state.restarts).toBe(0);
  });

  test("a line that does not end ends the server, and this process continues", async () => {
    const { call, client } = await openFixture({ ...fixtureServer("giant-line"), timeouts: impatient });

    const error = await failureOf(call("endless"));

    expect(error).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    expect((await call("giant", { bytes: 3 })).data).toEqual(text("xxx"));
    expect(client.state.restarts).toBe(1);
  });
});

describe("what a server may not do", () => {
  test("its requests are refused, and no operation of ours runs", async () => {
    const { call, registry } = await openFixture(fixtureServer("asks-client"));
    const secret = vi.fn(() => "secret");
    registry.register({
      namespace: "local",
      name: "secret",
      version: "1.0.0",
      type: "query",
      description: "",
      inputSchema: Type.Object({}),
      outputSchema: Type.String(),
      accessControl: { requiredScopes: [] },
      handler: secret,
    });

    const { data } = await call("ask");

    expect(data).toEqual({
      "sampling/createMessage": -32601,
      "elicitation/create": -32601,
      "roots/list": -32601,
      "tools/call": -32601,
      ping: {},
    });
    expect(secret).not.toHaveBeenCalled();
  });

  test("it may request input of the user when the configuration has onElicit", async () => {
    const onElicit = vi.fn(() => ({ action: "accept" as const, content: { name: "Ada" } }));
    const { call } = await openFixture({ ...fixtureServer("asks-client"), onElicit });

    const { data } = await call("elicit");

    expect(data).toEqual({ answer: { action: "accept", content: { name: "Ada" } } });
    expect(onElicit).toHaveBeenCalledWith(
      expect.objectContaining({ server: "fixture", mode: "form", message: "Your name?" }),
      expect.anything(),
    );
  });

  test("responses with unknown ids are dropped, and the first of several responses counts", async () => {
    const { call } = await openFixture(fixtureServer("unexpected-ids"));

    expect((await call("respond")).data).toEqual(text("first"));
    expect((await call("respond")).data).toEqual(text("first"));
  });

  test("progress is passed on, and does not extend the deadline", async () => {
    const { call } = await openFixture(fixtureServer("progress"));
    const seen: unknown[] = [];

    const steps = call("steps", { count: 2 }, { onProgress: (progress) => seen.push(progress) });
    await vi.waitFor(() => expect(seen).toHaveLength(2));
    await call("finish");
    const error = await failureOf(call("forever", {}, { deadline: Date.now() + 500, onProgress: () => {} }));

    expect((await steps).data).toEqual({ token: true });
    expect(seen).toEqual([
      { progress: 1, total: 2, message: "step 1" },
      { progress: 2, total: 2, message: "step 2" },
    ]);
    expect(error).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
    expect((await call("running")).data).toEqual({ count: 0 });
  });
});

describe("starting", () => {
  test("arguments arrive byte for byte, without a shell", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fixture-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "touched");
    const args = [`; touch ${file}`, `$(touch ${file})`, `\`touch ${file}\``, "a\nb", "", "*", '"', "größe"];
    const { call } = await openFixture({ ...fixtureServer("environment", ...args), cwd: folder });

    const { data } = await call("environment");

    expect(data).toMatchObject({ argv: args, cwd: folder });
    expect(existsSync(file)).toBe(false);
  });

  test("it receives only the configured environment", async () => {
    vi.stubEnv("ODD_SECRET", "canary");
    vi.stubEnv("ODD_SHARED", "shared");
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = { ...fixtureServer("environment"), env: { OWN: "1" }, inheritEnv: ["ODD_SHARED"] };

    const { call } = await openFixture(config);
    const { env } = (await call("environment")).data as { env: Record<string, string> };

    expect(env).toMatchObject({ OWN: "1", ODD_SHARED: "shared" });
    expect(JSON.stringify(env)).not.toContain("canary");
  });

  test("a server that cannot start reports the reason, and the others start", async () => {
    const start = async (connect: number) => {
      const loader = new MCPClientLoader();
      onTestFinished(() => loader.closeAll());
      const wrappers = await loader.load({
        good: fixtureServer("environment"),
        exits: { ...fixtureServer("exits-at-start"), restart: false },
        silent: { ...fixtureServer("silent"), timeouts: { connect, ...impatient } },
        missing: { command: "/no/such/program" },
        neither: {},
      });
      return { loader, wrappers };
    };

    let time = 500;
    let { loader, wrappers } = await start(time);
    // On a busy machine, a program takes long to send its first message.
    while (loader.getStates()["silent"]?.stderr.length === 0) {
      time *= 2;
      ({ loader, wrappers } = await start(time));
    }

    expect(wrappers.map(({ name }) => name)).toEqual(["good"]);
    const states = loader.getStates();
    const codes = Object.fromEntries(Object.entries(states).map(([name, { error }]) => [name, error?.code]));
    expect(codes).toEqual({
      good: undefined,
      exits: "UNAVAILABLE",
      silent: "TIMEOUT",
      missing: "UNAVAILABLE",
      neither: "VALIDATION_ERROR",
    });
    expect(states["exits"]?.stderr).toEqual(["missing API_KEY"]);
    expect(states["silent"]?.stderr).toEqual(["waiting for something"]);
  });

  test("the newer protocol is used with a server that refuses the handshake", async () => {
    const { call, client } = await openFixture(fixtureServer("modern-only"));

    expect((await call("list")).data).toEqual([1, 2]);
    expect(client.state.protocol).toEqual({ era: "modern", version: "2026-07-28" });
    expect(await failureOf(call("ask"))).toMatchObject({ code: "INPUT_REQUIRED" });
    expect(await failureOf(call("task"))).toMatchObject({ code: "BAD_RESPONSE" });
  });

  test("the configuration responds to requests of a newer server for input", async () => {
    const onElicit = () => ({ action: "accept" as const, content: { name: "Ada" } });
    const { call } = await openFixture({ ...fixtureServer("modern-only"), onElicit });

    const inputResponses = { name: { action: "accept", content: { name: "Ada" } } };
    expect((await call("ask")).data).toEqual({ inputResponses, requestState: "s1" });
  });
});

describe("closing", () => {
  async function loadOne(config: ReturnType<typeof fixtureServer>) {
    const loader = new MCPClientLoader();
    const registry = new OperationRegistry();
    await loader.load({ fixture: { ...config, timeouts: impatient } });
    registry.registerAll(loader.getAllOperations());
    return { loader, registry };
  }

  test("a program that ignores the end of its input and SIGTERM is ended", async () => {
    const { loader, registry } = await loadOne(fixtureServer("stubborn"));
    const { data } = await registry.execute("fixture.pid", {});
    const pid = Number((data as Array<{ text: string }>)[0]!.text);

    await loader.closeAll();

    expect(isAlive(pid)).toBe(false);
  });

  test.each([[[]], [["--stubborn"]]])("processes that a server started are ended (%j)", async (args) => {
    const { loader, registry } = await loadOne(fixtureServer("grandchild", ...args));
    const { data } = await registry.execute("fixture.pids", {});
    const { server, grandchild } = data as { server: number; grandchild: number };

    await loader.closeAll();

    expect([isAlive(server), isAlive(grandchild)]).toEqual([false, false]);
  });

  test("pending calls end, later ones are refused", async () => {
    const { loader, registry } = await loadOne(fixtureServer("hangs"));

    const pending = failureOf(registry.execute("fixture.hang", {}));
    await registry.execute("fixture.cancelled", {});
    await loader.closeAll();

    expect(await pending).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    expect(await failureOf(registry.execute("fixture.hang", {}))).toMatchObject({
      code: "UNAVAILABLE",
      mayHaveRun: false,
    });
    await loader.closeAll();
  });
});

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const setup = `
  import { OperationRegistry, PendingRequestMap, buildCallHandler, subscribe } from "./src/index.ts";
  const spec = { namespace: "test", version: "1", type: "query", description: "", accessControl: { requiredScopes: [] },
    inputSchema: {}, outputSchema: {} };
  const never = () => new Promise(() => {});
  const registry = new OperationRegistry();
  registry.register({ ...spec, name: "never", handler: never });
  registry.register({ ...spec, name: "now", handler: () => 1 });
  registry.register({ ...spec, name: "outer", handler: (_input, { env }) =>
    env.test.never({}, { deadline: Date.now() + 100 }) });
  registry.register({ ...spec, name: "ticks", type: "subscription", handler: async function* () { await never(); } });
  const map = new PendingRequestMap();
  await map.handle(buildCallHandler({ registry, callMap: map })).ready;
`;

/** Runs a program to its end; a process that has nothing to wait for ends early, with code 13. */
async function run(program: string): Promise<string[]> {
  const args = ["--import", "tsx", "--input-type=module", "--eval", `${setup}\n${program}`];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim().split("\n");
}

describe("a process whose only work is to wait for a call", () => {
  test("stays until the call has ended", async () => {
    const said = await run(`
      const show = (what) => ({ code }) => console.log(what, code);
      const within = () => ({ deadline: Date.now() + 100 });
      await registry.execute("test.never", {}, within()).catch(show("direct"));
      await registry.client(within()).test.never({}).catch(show("client"));
      await registry.execute("test.outer", {}).catch(show("nested"));
      await map.call("test.never", {}, within()).catch(show("travels"));
      const alone = new PendingRequestMap(new EventTarget(), { defaultTimeout: 100 });
      await alone.call("test.never", {}).catch(show("untaken"));
      await subscribe(registry, "test.ticks", {}, { idleTimeout: 100 }).next().catch(show("subscribed"));
      await map.subscribe("test.ticks", {}, { idleTimeout: 100 }).next().catch(show("subscribed afar"));
    `);

    const calls = ["direct", "client", "nested", "travels", "untaken", "subscribed", "subscribed afar"];
    expect(said).toEqual(calls.map((call) => `${call} TIMEOUT`));
  });

  test("ends when all calls have ended, long before their deadlines", async () => {
    const said = await run(`
      const options = () => ({ deadline: Date.now() + 3_600_000 });
      await registry.execute("test.now", {}, options());
      await Promise.all([1, 2].map(() => registry.execute("test.now", {}, options())));
      setTimeout(() => registry.execute("test.now", {}, options()).then(() => console.log("done")), 20);
    `);

    expect(said).toEqual(["done"]);
  });
});

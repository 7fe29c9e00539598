/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: JSON and YAML contain variables. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type HubConfig, loadConfig, resolveConfig } from "./index.ts";

const environment = { TOKEN: "s3cr3t", NESTED: "${TOKEN}", HOST: "api.example.com", EMPTY: "" };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub config "));
  await writeFile(join(folder, "key.txt"), "from ${TOKEN}\n");
});
afterEach(() => rm(folder, { recursive: true }));

async function load(name: string, config: object | string) {
  const file = join(folder, name);
  await writeFile(file, typeof config === "string" ? config : JSON.stringify(config));
  return (await loadConfig(file, { environment })).config;
}

test.each(["operations.config.json", "operations.config.yaml"])(
  "%s expands variables once, in four fields",
  async (name) => {
    const config = await load(name, {
      sources: {
        api: {
          openapi: "https://api.example.com/openapi.json",
          auth: { type: "basic", username: "${TOKEN}-${HOST}", password: "${file:key.txt}" },
          headers: { "x-nested": "${NESTED}", "x-empty": "[${EMPTY}]", "x-dollar": "$TOKEN $${HOST}" },
          rename: { url: "${TOKEN}" },
          serverVariables: { env: "${TOKEN}" },
          include: ["${TOKEN}"],
        },
        server: {
          mcp: { command: "${TOKEN}", args: ["${TOKEN}"], cwd: folder, env: { KEY: "${TOKEN}", env: "${HOST}" } },
        },
        remote: { mcp: { url: "https://${HOST}/mcp", auth: { type: "bearer", token: "${TOKEN}" } } },
        env: { modules: resolve("/${TOKEN}") },
        bus: { redis: { url: "redis://${HOST}", trustedBus: true, prefix: "${TOKEN}" } },
        hub2: { websocket: { url: "wss://${HOST}/calls", auth: { type: "bearer", token: "${TOKEN}" } } },
      },
      rules: [{ match: "${TOKEN}", deny: true }],
    });

    expect(config).toEqual({
      sources: {
        api: {
          openapi: "https://api.example.com/openapi.json",
          auth: { type: "basic", username: "s3cr3t-api.example.com", password: "from ${TOKEN}" },
          headers: { "x-nested": "${TOKEN}", "x-empty": "[]", "x-dollar": "$TOKEN $api.example.com" },
          rename: { url: "${TOKEN}" },
          serverVariables: { env: "${TOKEN}" },
          include: ["${TOKEN}"],
        },
        server: {
          mcp: { command: "${TOKEN}", args: ["${TOKEN}"], cwd: folder, env: { KEY: "s3cr3t", env: "api.example.com" } },
        },
        remote: { mcp: { url: "https://api.example.com/mcp", auth: { type: "bearer", token: "s3cr3t" } } },
        env: { modules: resolve("/${TOKEN}") },
        bus: { redis: { url: "redis://api.example.com", trustedBus: true, prefix: "${TOKEN}" } },
        hub2: { websocket: { url: "wss://api.example.com/calls", auth: { type: "bearer", token: "s3cr3t" } } },
      },
      rules: [{ match: "${TOKEN}", deny: true }],
    });
  },
);

test("a program does not expand strings, and replaces env() everywhere", async () => {
  const text = `import { env } from ${JSON.stringify(new URL("config.ts", import.meta.url).href)};
    export default { sources: {
      api: { openapi: env("HOST"), headers: { a: "\${TOKEN}", b: env("NESTED") } },
      server: { mcp: { command: "x", args: [env("TOKEN")], env: { env: "TOKEN" } } },
      bus: { nats: { sign: env("TOKEN"), connect: { pass: env("TOKEN") } } },
    } };`;

  expect(await load("operations.config.ts", text)).toEqual({
    sources: {
      api: { openapi: join(folder, "api.example.com"), headers: { a: "${TOKEN}", b: "${TOKEN}" } },
      server: { mcp: { command: "x", cwd: folder, args: ["s3cr3t"], env: { env: "TOKEN" } } },
      bus: { nats: { sign: "s3cr3t", connect: { pass: "s3cr3t" } } },
    },
  });
});

test("env() of another copy of this package is replaced, and an object with a key env is not", () => {
  const foreign = { env: "TOKEN", [Symbol.for("@alkdev/operations/env")]: true };
  const config = { sources: { a: { mcp: { command: "x", cwd: folder, env: { env: "TOKEN", KEY: foreign } } } } };

  const resolved = resolveConfig(config as unknown as HubConfig, { environment });

  expect(resolved).toEqual({
    sources: { a: { mcp: { command: "x", cwd: folder, env: { env: "TOKEN", KEY: "s3cr3t" } } } },
  });
});

test("paths are relative to the folder of the configuration, and ~ is the home folder", () => {
  const config: HubConfig = {
    sources: {
      tasks: { modules: "./operations" },
      here: { openapi: "../openapi.yaml" },
      there: { openapi: "https://example.com/openapi.yaml" },
      files: { mcp: { command: "./server", args: ["."] } },
      other: { mcp: { command: "npx", cwd: "servers" } },
      remote: { mcp: { url: "https://example.com/mcp" } },
      mine: { mcpConfig: { file: "~/.cursor/mcp.json" } },
    },
    history: { file: "operations.db", keep: "7d" },
  };

  const resolved = resolveConfig(config, { folder: resolve("/srv/hub") });

  expect(resolved).toEqual({
    sources: {
      tasks: { modules: resolve("/srv/hub/operations") },
      here: { openapi: resolve("/srv/openapi.yaml") },
      there: { openapi: "https://example.com/openapi.yaml" },
      files: { mcp: { command: "./server", args: ["."], cwd: resolve("/srv/hub") } },
      other: { mcp: { command: "npx", cwd: resolve("/srv/hub/servers") } },
      remote: { mcp: { url: "https://example.com/mcp" } },
      mine: { mcpConfig: { file: join(homedir(), ".cursor/mcp.json") } },
    },
    history: { file: resolve("/srv/hub/operations.db"), keep: "7d" },
  });
  expect(resolveConfig(resolved, { folder: "/elsewhere" })).toEqual(resolved);
});

test("functions, instances of classes and infinite limits are kept", () => {
  const provider = new (class Provider {
    token = async () => "t";
  })();
  const auth = () => ({ type: "bearer", token: () => "t" }) as const;
  const config: HubConfig = {
    sources: {
      api: {
        openapi: "https://example.com/openapi.json",
        auth,
        headers: () => ({}),
        timeout: Number.POSITIVE_INFINITY,
      },
      server: {
        mcp: { url: "https://example.com/mcp", auth: { type: "provider", provider }, trust: undefined } as never,
      },
    },
  };

  const resolved = resolveConfig(config);

  expect(resolved).toEqual(config);
  expect(resolved.sources?.["server"]).toHaveProperty("mcp.auth.provider", provider);
});

test("YAML merges shared parts", async () => {
  const config = await load(
    "operations.config.yml",
    `sources:
  a: &shared { modules: /operations, exclude: [x] }
  b: { <<: *shared, exclude: [y] }
`,
  );

  expect(config).toEqual({
    sources: {
      a: { modules: resolve("/operations"), exclude: ["x"] },
      b: { modules: resolve("/operations"), exclude: ["y"] },
    },
  });
});

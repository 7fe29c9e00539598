/**
 * `npm run lab -- mounts [next | deno | bun …]`: packs the package, mounts a server in each host as a user does, and runs the
 * story of the mount tests against it: a call, errors, a subscription, and requests that are aborted.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import ts from "typescript";
import { root } from "../scripts/subpaths.ts";
import { findFreePort, until } from "../src/internal/testing.ts";
import { expectedMountStory, runMountStory } from "../test/support/mount-story.ts";
import { binOf, installPackage } from "./mcp/install.ts";
import { printTable } from "./mcp/table.ts";

/** A program that runs servers. */
interface Host {
  /** The packages that contain it. */
  packages: readonly string[];
  /** Files of the project, by path. `server.mjs` is added to them. */
  files: Readonly<Record<string, string>>;
  /** Commands that run before the server. */
  prepare?: (home: string) => ReadonlyArray<readonly string[]>;
  /** The command that starts the server on the port in `PORT`. */
  start(home: string, port: number): readonly string[];
  /** The path at which the server is mounted. */
  path: string;
}

const hosts: Readonly<Record<string, Host>> = {
  next: {
    packages: ["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"],
    files: {
      "app/api/[...path]/route.js": readExample("next-route.ts", "../../../server.mjs"),
      "next.config.mjs": "export default { turbopack: { root: import.meta.dirname } };\n",
    },
    prepare: (home) => [[binOf(home, "next"), "build"]],
    start: (home, port) => [binOf(home, "next"), "start", "--hostname", "127.0.0.1", "--port", String(port)],
    path: "/api",
  },
  deno: {
    packages: ["@deno/linux-x64-glibc@2.9.6"],
    files: { "main.mjs": readExample("deno.mjs", "./server.mjs") },
    start: (home) => [
      join(home, "node_modules/@deno/linux-x64-glibc/deno"),
      ...["run", "--no-prompt", "--cached-only", "--allow-net=127.0.0.1", "--allow-env", "--allow-read=.", "main.mjs"],
    ],
    path: "",
  },
  bun: {
    packages: ["@oven/bun-linux-x64@1.4.4"],
    files: { "main.mjs": readExample("bun.mjs", "./server.mjs") },
    start: (home) => [join(home, "node_modules/@oven/bun-linux-x64/bin/bun"), "run", "main.mjs"],
    path: "",
  },
};

const wanted = process.argv.slice(2);
const names = Object.keys(hosts).filter((name) => wanted.length === 0 || wanted.includes(name));
const folder = mkdtempSync(join(tmpdir(), "mounts-"));
const rows: string[][] = [];
try {
  const tarball = pack();
  for (const name of names) {
    const started = performance.now();
    const problem = await tryHost(name, hosts[name]!, tarball).catch((error: unknown) => String(error));
    rows.push([name, hosts[name]!.packages[0]!, `${Math.round(performance.now() - started)}`, problem ?? ""]);
    console.log(`${problem === undefined ? "✓" : "✗"} ${name}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const failures = rows.filter(([, , , problem]) => problem !== "").length;
console.log();
printTable(["host", "package", "ms", "problem"], rows);
console.log(`\n${rows.length - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

function pack(): string {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const packed = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return join(folder, JSON.parse(packed)[0].filename);
}

/** Returns what differs from the expected story. */
async function tryHost(name: string, host: Host, tarball: string): Promise<string | undefined> {
  const home = await installPackage(join("mounts", name), ...host.packages);
  run(
    ["npm", "install", "--no-save", "--engine-strict=false", "--ignore-scripts", "--no-audit", "--no-fund", tarball],
    home,
  );
  const server = `${readScript("test/support/mount-server.ts")}\nexport const server = createMountServer();\n`;
  for (const [path, content] of Object.entries({ ...host.files, "server.mjs": server })) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), content);
  }
  for (const command of host.prepare?.(home) ?? []) run(command, home);
  const port = await findFreePort();
  const child = start(host.start(home, port), home, port);
  const exited = once(child, "exit");
  try {
    const url = `http://127.0.0.1:${port}${host.path}`;
    const failed = exited.then(() => Promise.reject(new Error("The host ended early.")));
    failed.catch(() => {}); // It ends after the story too.
    await Promise.race([failed, until(async () => (await fetch(`${url}/story/counts`)).status === 401)]);
    const story = await Promise.race([failed, runMountStory(url)]);
    return isDeepStrictEqual(story, expectedMountStory) ? undefined : JSON.stringify(story);
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}

/** Reads a file as JavaScript. */
function readScript(path: string): string {
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpile(readFileSync(join(root, path), "utf8"), options);
}

/** Reads a file that the docs show, with the server of the story instead of its own. */
function readExample(file: string, server: string): string {
  return readScript(`examples/mount/${file}`).replace("./server.ts", server);
}

function run([program, ...args]: readonly string[], cwd: string): void {
  execFileSync(program!, args, { cwd, stdio: ["ignore", "ignore", "inherit"], env: environment() });
}

function start([program, ...args]: readonly string[], cwd: string, port: number): ChildProcess {
  const env = { ...environment(), PORT: String(port) };
  return spawn(program!, args, { cwd, stdio: ["ignore", "ignore", "inherit"], env });
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NEXT_TELEMETRY_DISABLED: "1", DENO_NO_UPDATE_CHECK: "1" };
}

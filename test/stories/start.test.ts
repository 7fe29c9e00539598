import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fence, mapFences } from "../../scripts/docs/fences.ts";
import { isShownTruly } from "../../scripts/docs/output.ts";
import { root } from "../../scripts/subpaths.ts";

/** What a clone does not contain. */
const untracked = new Set([".git", ".data", "api", "coverage", "dist", "node_modules"]);

const folder = mkdtempSync(join(tmpdir(), "operations-start-"));
const clone = join(folder, "clone");
const env = {
  ...process.env,
  PORT: "0",
  XDG_STATE_HOME: join(folder, "state"),
  NO_COLOR: "1",
  npm_config_progress: "false",
};
let running: Started;

beforeAll(async () => {
  cpSync(root, clone, { recursive: true, filter: (path) => path === root || !untracked.has(basename(path)) });
  for (const folder of ["", ".bin"]) linkEntries(join("node_modules", folder)); // What `npm ci` installs.
  running = await start();
});

afterAll(async () => {
  await running?.interrupt();
  rmSync(folder, { recursive: true });
});

/** Creates a folder with links to what it contains here, except `.bin`. */
function linkEntries(path: string): void {
  mkdirSync(join(clone, path));
  for (const name of readdirSync(join(root, path))) {
    if (name !== ".bin" && name !== "operations") symlinkSync(join(root, path, name), join(clone, path, name));
  }
}

/** A running `npm start`. */
interface Started {
  /** The address of the hub. */
  url: string;
  /** The link to the console that it printed. */
  link: string;
  /** The commands that it printed. */
  lines: string[];
  /** Does what Ctrl-C does: sends the signal to all its processes. Returns what is printed when they have ended. */
  interrupt(): Promise<{ stdout: string; stderr: string }>;
}

/** Runs `npm start` in a process group of its own, as a terminal does. */
async function start(): Promise<Started> {
  const child = spawn("npm", ["start"], { cwd: clone, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close"); // Waits for every process that can still write to its output.
  const printed = { stdout: "", stderr: "" };
  child.stderr.setEncoding("utf8").on("data", (part: string) => (printed.stderr += part));
  const ready = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      printed.stdout += part;
      if (printed.stdout.includes("Ctrl-C ends the hub.\n")) resolve();
    });
  });
  await Promise.race([ready, closed]);
  expect({ exitCode: child.exitCode, stderr: withoutNpm(printed.stderr) }).toEqual({ exitCode: null, stderr: "" });
  const before = printed.stdout.length;
  return {
    url: /runs at (\S+)\. /.exec(printed.stdout)![1]!,
    link: /Open the console in a browser:\n\n {2}(.*)\n/.exec(printed.stdout)![1]!,
    lines: Array.from(printed.stdout.matchAll(/^ {2}((?:curl|npx) .*)$/gm), ([, line]) => line!),
    interrupt: async () => {
      if (isRunning(child)) process.kill(-child.pid!, "SIGINT");
      await closed;
      return { stdout: printed.stdout.slice(before), stderr: withoutNpm(printed.stderr) };
    },
  };
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Removes the messages of npm, which depend on its version and settings. */
function withoutNpm(text: string): string {
  return text.replaceAll(/^npm .*\n/gm, "");
}

/** Runs a program in the root of the clone. */
function run(program: string, args: string[]): Promise<{ exitCode: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: clone, env: { ...env, OPERATIONS_HUB: running.url } }, (error, stdout, stderr) => {
      resolve({ exitCode: error?.code ?? 0, stdout, stderr: withoutNpm(stderr) });
    });
  });
}

/** Runs a line of a shell. */
const paste = (line: string) => run("sh", ["-c", line]);

/** The address of the hub in the tutorial. */
const defaultUrl = "http://127.0.0.1:4000";
// Linux has a `script` that runs a command in a terminal.
const hasTerminal = process.platform === "linux" && existsSync("/usr/bin/script");

// In this order: what the tutorial shows are the first orders of the hub, and the last test ends it.
describe("npm start", { shuffle: false }, () => {
  test.runIf(hasTerminal)("the commands of the tutorial print what it shows", async () => {
    const fences: Fence[] = [];
    mapFences(readFileSync(join(root, "docs/tutorial-hub.md"), "utf8"), (fence) => void fences.push(fence));
    const commands = fences.flatMap((fence, index) =>
      "paste" in fence.attributes ? [{ fence, shown: fences[index + 1]! }] : [],
    );

    for (const { fence, shown } of commands) {
      const { exitCode, stdout } = await run("/usr/bin/script", [
        "-qec",
        fence.content.replaceAll(defaultUrl, running.url),
        "/dev/null",
      ]);
      const seen = withoutNpm(stdout.replaceAll("\r\n", "\n")).replaceAll(clone, "/home/ada/shop");

      expect(isShownTruly(shown.content, seen), `${fence.content}\n${seen}`).toBe(true);
      expect(exitCode).toBe(Number(fence.attributes["exit"] ?? 0));
    }
    expect(commands.length).toBeGreaterThan(5);
  });

  test("npm start prints a link to the console, and serves its page", async () => {
    expect(running.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/#code=[\w-]{43}$/);
    expect((await fetch(running.link)).status).toBe(200);
  });

  test("every line that npm start prints works in another terminal", async () => {
    const [curl, list, call, mcpConfig, types, ...more] = running.lines;

    const orders = JSON.parse((await paste(curl!)).stdout);
    const listed = (await paste(list!)).stdout.split("\n").map((line) => line.split("\t")[0]);
    const called = await paste(call!);
    const configured = await paste(mcpConfig!);
    const typed = await paste(types!);

    expect(orders.at(-1)).toEqual({ id: 1, item: "Notebook", city: "Lima", parcel: "parcel-0" });
    expect(listed).toEqual(expect.arrayContaining(["order.place", "clock.tick", "delivery.book", "letters.write"]));
    expect({ ...called, stdout: JSON.parse(called.stdout) }).toEqual({
      exitCode: 0,
      stderr: "",
      stdout: {
        order: { id: orders.length + 1, item: "Mug", city: "Oslo", parcel: expect.stringMatching(/^parcel-\d+$/) },
        days: 2,
        letter: "Thank you for your order. Your Mug arrives in 2 days.",
      },
    });
    expect({ ...configured, stdout: JSON.parse(configured.stdout) }).toEqual({
      exitCode: 0,
      stderr: expect.stringContaining(
        `Add this to .mcp.json or ~/.claude.json. Or run: claude mcp add --scope project --transport http operations ${running.url}/mcp `,
      ),
      stdout: { mcpServers: { operations: expect.objectContaining({ type: "http", url: `${running.url}/mcp` }) } },
    });
    expect(typed).toEqual({
      exitCode: 0,
      stderr: "Wrote operations.d.ts with 20 operations.\n",
      stdout: "",
    });
    expect(readFileSync(join(clone, "examples/hub/.data/operations.d.ts"), "utf8")).toContain(
      "Books the delivery of an item, saves the order, and writes a letter to the customer",
    );
    expect(more).toEqual([]);
  });

  test("Ctrl-C ends npm start and all its processes, and orders stay", async () => {
    const before = (await paste(running.lines[0]!)).stdout;
    expect(JSON.parse(before).length).toBeGreaterThan(0);

    expect(await running.interrupt()).toEqual({ stdout: "Closing the hub.\n", stderr: "" });
    running = await start();

    expect((await paste(running.lines[0]!)).stdout).toBe(before);
  });
});

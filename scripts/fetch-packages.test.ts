import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ensureProgram, findProgram, type Program } from "./ensure-program.ts";
import { type FetchRequest, fetchPackages } from "./fetch-packages.ts";

function setUp() {
  vi.spyOn(console, "log").mockImplementation(() => {});
  const cache = mkdtempSync(join(tmpdir(), "programs-"));
  onTestFinished(() => {
    vi.restoreAllMocks();
    rmSync(cache, { recursive: true });
  });
  return { cache, folder: join(cache, "redis-server") };
}

/** Writes a program below `root` that ends with `exitCode`. */
function writeProgram(root: string, exitCode = 0): void {
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  mkdirSync(join(root, "usr/lib/x86_64-linux-gnu/nss"), { recursive: true });
  writeFileSync(join(root, "usr/lib/x86_64-linux-gnu/libjemalloc.so.2"), "");
  writeFileSync(join(root, "usr/bin/redis-server"), `#!/bin/sh\necho no library; exit ${exitCode}\n`, { mode: 0o755 });
}

const probe = (root: string): Program => ({ path: join(root, "usr/bin/redis-server"), env: { ...process.env } });

test("an installed program is used as it is", () => {
  const { cache } = setUp();
  writeProgram(cache);

  const program = findProgram("redis-server", { system: ["/missing", join(cache, "usr/bin")], cache });

  expect(program).toEqual({ path: join(cache, "usr/bin/redis-server"), env: process.env });
});

test("an unpacked program runs with the libraries that were unpacked with it", () => {
  const { cache, folder } = setUp();
  writeProgram(folder);

  const program = findProgram("redis-server", { system: [], cache });

  expect(program?.path).toBe(join(folder, "usr/bin/redis-server"));
  expect(program?.env["LD_LIBRARY_PATH"]).toBe(join(folder, "usr/lib/x86_64-linux-gnu"));
});

// Locks between processes are those of util-linux, which every Debian system has.
describe.runIf(existsSync("/usr/bin/flock"))("fetching", () => {
  test("several requests at the same time unpack a package once", async () => {
    const { cache, folder } = setUp();
    let unpacked = 0;
    const unpack: FetchRequest["unpack"] = async (_packages, root, run) => {
      unpacked++;
      await run("true", []);
      writeProgram(root);
    };

    await Promise.all([1, 2, 3].map(() => fetchPackages({ packages: ["redis-server"], folder, probe, unpack })));

    expect(unpacked).toBe(1);
    expect(findProgram("redis-server", { system: [], cache })?.path).toBe(join(folder, "usr/bin/redis-server"));
    expect(readdirSync(cache).sort()).toEqual(["redis-server", "redis-server.lock"]);
  });

  test("a package whose program does not run leaves nothing, and the next request tries again", async () => {
    const { cache, folder } = setUp();
    const fetchWith = (exitCode: number) =>
      fetchPackages({
        packages: ["redis-server"],
        folder,
        probe,
        unpack: async (_packages, root) => writeProgram(root, exitCode),
      });

    await expect(fetchWith(127)).rejects.toThrow("redis-server --version failed (exit code 127).\nno library");
    expect(readdirSync(cache)).toEqual(["redis-server.lock"]);
    await fetchWith(0);

    expect(readdirSync(cache).sort()).toEqual(["redis-server", "redis-server.lock"]);
  });

  test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
    "%s in the middle leaves nothing that counts",
    async (signal) => {
      const { cache, folder } = setUp();
      const program = `
      const { fetchPackages } = await import(${JSON.stringify(new URL("fetch-packages.ts", import.meta.url).href)});
      const unpack = async (packages, root, run) => run("sh", ["-c", "echo half > " + root + "/half; exec sleep 60"]);
      await fetchPackages({ packages: ["a"], folder: ${JSON.stringify(folder)}, probe: () => { throw new Error(); }, unpack });`;
      const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
        stdio: "ignore",
      });
      await vi.waitFor(() => expect(existsSync(`${folder}.partial/half`)).toBe(true));

      child.kill(signal);
      const [, endedBy] = await once(child, "exit");
      await fetchPackages({ packages: ["a"], folder, probe, unpack: async (_packages, root) => writeProgram(root) });

      expect(endedBy).toBe(signal);
      expect(readdirSync(folder)).toEqual(["usr"]);
      expect(readdirSync(cache).sort()).toEqual(["redis-server", "redis-server.lock"]);
    },
  );
});

describe.runIf(existsSync("/usr/bin/apt-get"))("a package that cannot be fetched", () => {
  // The cache is below a file, so that nothing is downloaded.
  const places = { system: [], cache: "/dev/null/programs" };

  test("is an error under CI that names the program and the reason", async () => {
    setUp();
    vi.stubEnv("CI", "true");
    onTestFinished(() => void vi.unstubAllEnvs());

    await expect(ensureProgram("nats-server", places)).rejects.toThrow(
      /^nats-server is missing and could not be fetched: ENOTDIR/,
    );
  });

  test("is missing elsewhere, and the reason is printed", async () => {
    setUp();
    vi.stubEnv("CI", "");
    onTestFinished(() => void vi.unstubAllEnvs());

    expect(await ensureProgram("nats-server", places)).toBeUndefined();
    expect(console.log).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^nats-server is missing.* ENOTDIR.*\n.*apt-get install nats-server$/),
    );
  });
});

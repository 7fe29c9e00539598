import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Program } from "./ensure-program.ts";

/** Debian packages that become usable without being installed. */
export interface FetchRequest {
  packages: readonly string[];
  /** The folder that becomes the root of the unpacked packages. It appears when the program in it works. */
  folder: string;
  /** Returns the program of packages that were unpacked below `root`. It must run `--version` before the folder appears. */
  probe(root: string): Program;
  /** Fills `root`. @default downloads the packages and what they depend on with apt-get */
  unpack?: (packages: readonly string[], root: string, run: RunCommand) => Promise<void>;
}

/** Runs a command to its end. Rejects with what it printed when it fails. */
export type RunCommand = (program: string, args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<void>;

/** The package that is never unpacked: the system's program loader only works with the libc that it came with. */
const libc = /^libc6_/;

/**
 * Downloads Debian packages with what they depend on and the system lacks, and unpacks all of it into one folder.
 * Needs no root and changes nothing outside the folder. Processes that ask for the same folder wait for the first one.
 */
export async function fetchPackages(request: FetchRequest): Promise<void> {
  const { packages, folder, probe, unpack = unpackFromDebian } = request;
  mkdirSync(dirname(folder), { recursive: true });
  const partial = `${folder}.partial`;
  await using _lock = await takeLock(`${folder}.lock`);
  if (existsSync(folder)) return; // another process fetched it while this one waited
  rmSync(partial, { recursive: true, force: true }); // left by a process that was killed
  console.log(`Fetching ${packages.join(", ")} of Debian into ${folder} (nothing is installed) …`);
  mkdirSync(partial);
  using commands = new Commands(() => rmSync(partial, { recursive: true, force: true }));
  await unpack(packages, partial, commands.run);
  const { path, env } = probe(partial);
  await commands.run(path, ["--version"], env);
  renameSync(partial, folder);
}

async function unpackFromDebian(packages: readonly string[], root: string, run: RunCommand): Promise<void> {
  const work = join(root, ".apt");
  const archives = join(work, "cache/archives");
  mkdirSync(join(work, "state/lists/partial"), { recursive: true });
  mkdirSync(join(archives, "partial"), { recursive: true });
  const apt = (...args: string[]) =>
    run("apt-get", [
      ...["-qq", "-y", "-o", `Dir::State=${work}/state`, "-o", "Dir::State::status=/var/lib/dpkg/status"],
      ...["-o", `Dir::Cache=${work}/cache`, "-o", `Dir::Log=${work}`, "-o", "Debug::NoLocking=true"],
      ...["-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=3"],
      ...args,
    ]);
  // A list that cannot be read may belong to a server that has nothing to do with the package.
  const updateError = await apt("update").catch((error: Error) => error);
  await apt("install", "--download-only", "--reinstall", "--no-install-recommends", ...packages).catch(
    (error: Error) => {
      throw updateError instanceof Error ? new Error(`${error.message}\n${updateError.message}`) : error;
    },
  );
  for (const file of readdirSync(archives).filter((file) => file.endsWith(".deb") && !libc.test(file))) {
    await run("dpkg", ["-x", join(archives, file), root]);
  }
  rmSync(work, { recursive: true });
}

/** The commands of one fetch. Whatever ends the fetch also ends the command that is running, and cleans up. */
class Commands {
  readonly #cleanUp: () => void;
  #child: ChildProcess | undefined;

  constructor(cleanUp: () => void) {
    this.#cleanUp = cleanUp;
    process.once("SIGINT", this.#onSignal).once("SIGTERM", this.#onSignal);
  }

  readonly run: RunCommand = async (program, args, env = process.env) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...env, LC_ALL: "C.UTF-8" } });
    this.#child = child;
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        printed = (printed + chunk).slice(-2_000);
      });
    }
    const [exitCode] = await once(child, "close");
    if (exitCode !== 0) throw new Error(`${program} ${args[0]} failed (exit code ${exitCode}).\n${printed.trim()}`);
  };

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
    this.#cleanUp();
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.#child?.kill("SIGKILL");
    this.#cleanUp();
    process.kill(process.pid, signal); // this listener is gone, so the signal has its usual effect
  };
}

/** Takes a lock between processes. The kernel releases it when its owner ends, however that happens. */
async function takeLock(path: string): Promise<AsyncDisposable> {
  // `cat` ends when its input ends, which is when this process releases the lock or dies.
  const holder = spawn("flock", [path, "sh", "-c", "echo locked; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(holder, "close");
  const failed = ended.then(() => Promise.reject(new Error(`flock could not lock ${path}.`)));
  failed.catch(() => {}); // it also ends after it was released
  await Promise.race([once(holder.stdout, "data"), failed]);
  return {
    async [Symbol.asyncDispose]() {
      holder.stdin.end();
      await ended;
    },
  };
}

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
  /**
   * Returns the program of packages that were unpacked below `root`. It must run `--version` before the folder appears.
   */
  probe(root: string): Program;
  /** Fills `root`. @default downloads the packages and what they depend on with apt-get */
  unpack?: (packages: readonly string[], root: string, run: RunCommand) => Promise<void>;
}

/** Runs a command. If it fails, rejects with its output. */
export type RunCommand = (program: string, args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<void>;

/** The package that is never unpacked, because the system's program loader works only with its own libc. */
const libc = /^libc6_/;

/**
 * Downloads Debian packages and their missing dependencies, and unpacks them into one folder. It does not need root and
 * changes nothing outside the folder. Other processes that request the same folder wait for the first one.
 */
export async function fetchPackages(request: FetchRequest): Promise<void> {
  const { packages, folder, probe, unpack = unpackFromDebian } = request;
  mkdirSync(dirname(folder), { recursive: true });
  const partial = `${folder}.partial`;
  await using _lock = await takeLock(`${folder}.lock`);
  if (existsSync(folder)) return; // Another process fetched the packages in the meantime.
  rmSync(partial, { recursive: true, force: true }); // Remove the remains of a killed process.
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
  // A list that cannot be read may belong to a server that does not have the package.
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

/** The commands of one fetch. The end of the fetch also ends the running command and cleans up. */
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
    process.kill(process.pid, signal); // This listener was removed, so the signal has its default effect.
  };
}

/** Acquires a lock between processes. The kernel releases it when its owner ends for any reason. */
async function takeLock(path: string): Promise<AsyncDisposable> {
  // `cat` ends when its input ends, which happens when this process releases the lock or ends.
  const holder = spawn("flock", [path, "sh", "-c", "echo locked; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(holder, "close");
  const failed = ended.then(() => Promise.reject(new Error(`flock could not lock ${path}.`)));
  failed.catch(() => {}); // The process also ends after the lock was released.
  await Promise.race([once(holder.stdout, "data"), failed]);
  return {
    async [Symbol.asyncDispose]() {
      holder.stdin.end();
      await ended;
    },
  };
}

import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { startNATS } from "../test/services/nats.ts";
import type { Service } from "../test/services/process.ts";
import { startRedis } from "../test/services/redis.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";
import { root } from "./subpaths.ts";

/** Brokers that examples connect to, with the environment variable that contains the address. */
const brokers = {
  nats: { start: startNATS, variable: "NATS_URL", scheme: "nats" },
  redis: { start: startRedis, variable: "REDIS_URL", scheme: "redis" },
};
type BrokerName = keyof typeof brokers;

/** The brokers of each example that always needs one. The tour needs those that its arguments name. */
const brokersOf: Record<string, BrokerName[]> = {
  "hub-and-workers": ["nats"],
  "redis-workers": ["redis"],
  "signed-identity": ["redis"],
};

/** Returns the programs of all examples, relative to the root: `main.ts` of each folder, and the files of `examples/guide`. */
export function listPrograms(): string[] {
  return readdirSync(resolve(root, "examples"), { recursive: true, encoding: "utf8" })
    .map((file) => `examples/${file.replaceAll("\\", "/")}`)
    .filter((path) => exampleOf(path) !== undefined)
    .sort();
}

/** Returns the name of the example that a path is the program of, such as `hub` or `calls`. */
export function exampleOf(path: string): string | undefined {
  return /^examples\/(?:([^/]+)\/main|guide\/([^/]+))\.ts$/.exec(path)?.slice(1).find(Boolean);
}

/** The output of an example and its duration in ms. `skipped` is the name of the broker that is not available. */
export type ExampleResult = (ProgramResult & { durationMs: number; skipped?: undefined }) | { skipped: string };

/** The environment in which examples run. */
export interface ExamplePlace {
  /** The working directory. Packages are resolved from it. */
  cwd: string;
  /** Returns the path of the program to run for `examples/<name>/<file>`. */
  locate(path: string): string;
}

/** Runs examples, each at most once, with the brokers that they need. Brokers are started on first use. */
export class ExampleRunner implements AsyncDisposable {
  readonly #place: ExamplePlace;
  readonly #services = new Map<BrokerName, Promise<Service | undefined>>();
  readonly #results = new Map<string, Promise<ExampleResult>>();

  /** Without a place, examples run in the repository, with its sources. */
  constructor(place: ExamplePlace = { cwd: root, locate: (path) => path }) {
    this.#place = place;
  }

  /**
   * Runs the program at `path`, or returns the result of an earlier run. `file` runs instead, with the same brokers.
   */
  run(path: string, file = this.#place.locate(path)): Promise<ExampleResult> {
    const known = this.#results.get(file) ?? this.#start(path, file);
    this.#results.set(file, known);
    return known;
  }

  /** Runs programs in parallel, because they spend most of their time waiting. */
  async runAll(paths: readonly string[], onResult: (path: string, result: ExampleResult) => void): Promise<void> {
    const waiting = [...paths];
    const runNext = async (): Promise<void> => {
      for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) onResult(path, await this.run(path));
    };
    await Promise.all(Array.from({ length: availableParallelism() + 1 }, runNext));
  }

  /** Returns the environment of an example, with the addresses of its brokers, or the name of a missing broker. */
  async prepare(example: string, args: readonly string[]): Promise<{ env: NodeJS.ProcessEnv } | { missing: string }> {
    const asked = (["nats", "redis"] as const).filter((name) => args.includes(`--${name}`));
    const env: NodeJS.ProcessEnv = { ...process.env };
    for (const name of new Set([...(brokersOf[example] ?? []), ...asked])) {
      const { start, variable, scheme } = brokers[name];
      if (env[variable]) continue;
      const starting = this.#services.get(name) ?? start();
      this.#services.set(name, starting);
      const service = await starting;
      if (service === undefined) return { missing: name };
      env[variable] = `${scheme}://127.0.0.1:${service.port}`;
    }
    return { env };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#services.values()) await (await service)?.close();
  }

  async #start(path: string, file: string): Promise<ExampleResult> {
    const example = exampleOf(path) ?? "";
    // Run the whole tour, including the optional parts.
    const args = example === "tour" ? ["--all", "--nats", "--redis"] : [];
    const prepared = await this.prepare(example, args);
    if ("missing" in prepared) return { skipped: prepared.missing };
    const started = performance.now();
    const result = await runProgram(file, args, prepared.env, this.#place.cwd);
    return { ...result, durationMs: performance.now() - started };
  }
}

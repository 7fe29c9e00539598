import { resolve } from "node:path";
import { operatorOf } from "../hub/access.ts";
import {
  createHub,
  findConfig,
  type Hub,
  type HubConfig,
  type HubOptions,
  type LoadedConfig,
  loadConfig,
} from "../hub/index.ts";
import { settlesWithin, waitFor } from "../internal/wait.ts";
import { CallError } from "../operation/index.ts";
import type { CommandContext } from "./command.ts";
import { redirectOutput } from "./output-stream.ts";
import { RegistryTarget } from "./source-target.ts";
import type { Target, targetOptions } from "./target.ts";
import { requireTrust } from "./trust.ts";

/** Maximum time in ms that an interrupted start takes to end. */
const maxClosingMs = 3_000;

/** The part of a context that finds a configuration. */
export type ConfigContext = CommandContext<Pick<typeof targetOptions, "config">>;

/**
 * Loads the configuration that `--config` names, or else the one in the folder, which runs only if the user trusts it.
 * Returns `undefined` if there is neither.
 */
export async function readConfig(context: ConfigContext): Promise<LoadedConfig | undefined> {
  const { options, environment, folder } = context;
  const file = options.config === undefined ? await findConfig(folder) : resolve(folder, options.config);
  if (file === undefined) return undefined;
  if (options.config === undefined) {
    await requireTrust(file, { environment, ask: askOnTerminal(context) });
  }
  return loadConfig(file, { environment });
}

/** Starts a hub. An interruption ends the wait for its sources. */
export async function startHub(config: HubConfig, options: HubOptions, signal: AbortSignal): Promise<Hub> {
  const starting = createHub(config, options);
  try {
    return await waitFor(starting, { signal }, () => new CallError("ABORTED", "The start of the hub was interrupted."));
  } catch (error) {
    const closing = starting.then((hub) => hub.close());
    await settlesWithin(maxClosingMs, closing); // The programs that it has started must not outlive this one.
    throw error;
  }
}

/** Opens the hub of a configuration in this process, without serving it. Its user has all scopes. */
export async function openConfig(context: ConfigContext, timeout: number): Promise<Target | undefined> {
  const { signal, environment, stderr } = context;
  redirectOutput(stderr); // Modules may print.
  const loaded = await readConfig(context);
  if (loaded === undefined) return undefined;
  const { config, file, folder } = loaded;
  // The history file belongs to the hub that serves this configuration, which may be running.
  const { file: _, ...history } = config.history ?? {};
  const hub = await startHub(
    { ...config, history },
    { file, folder, environment, listen: false, startTimeout: timeout },
    signal,
  );
  return new RegistryTarget(file, hub.registry, operatorOf(hub.registry), () => hub.close());
}

/** Returns a function that asks a question on the terminal; `undefined` where no person could respond. */
function askOnTerminal({
  options,
  stderr,
  signal,
}: ConfigContext): ((question: string) => Promise<boolean>) | undefined {
  if (!process.stdin.isTTY || !stderr.isTerminal || options.json === true) return undefined;
  return async (question) => {
    const { createInterface } = await import("node:readline/promises");
    const prompt = createInterface({ input: process.stdin, output: process.stderr });
    prompt.on("SIGINT", () => process.kill(process.pid, "SIGINT")); // The terminal does not send it while it is read.
    try {
      return /^y(?:es)?$/i.test((await prompt.question(`${question} [y/N] `, { signal })).trim());
    } finally {
      prompt.close();
    }
  };
}

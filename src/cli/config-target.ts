import { resolve } from "node:path";
import {
  createHub,
  findConfig,
  type Hub,
  type HubConfig,
  type HubOptions,
  type LoadedConfig,
  loadConfig,
  type ResolvedConfig,
} from "../hub/index.ts";
import { settlesWithin, waitFor } from "../internal/wait.ts";
import { CallError, createOperator } from "../operation/inside.ts";
import type { CommandContext } from "./command.ts";
import { usageError } from "./failures.ts";
import { redirectOutput } from "./output-stream.ts";
import { createLocalTarget } from "./source-target.ts";
import { type Target, type TargetContext, type targetOptions, timeoutsOf } from "./target.ts";
import { describeActions, requireTrust, storeTrust } from "./trust.ts";

/** Maximum time in ms that an interrupted start takes to end. */
const maxClosingMs = 3_000;

/** The part of a context that finds a configuration. */
type ConfigContext = CommandContext<Pick<typeof targetOptions, "config">>;

/**
 * Loads the configuration that `--config` names, or else the one in the folder, which runs only if the user trusts it: now,
 * and when the hub reads it again.
 */
export async function readConfig(context: ConfigContext): Promise<LoadedConfig & Pick<HubOptions, "beforeReload">> {
  const { options, environment, folder, stderr } = context;
  redirectOutput(stderr); // Configurations and modules may print.
  if (options.config !== undefined) return loadConfig(resolve(folder, options.config), { environment });
  const file = await findConfig(folder);
  if (file === undefined) {
    throw usageError(
      "No configuration, hub or source was found. Pass --openapi, --mcp, --mcp-command, --hub or --config, or run the command in a folder with an operations.config file.",
    );
  }
  const accepted = await requireTrust(file, environment, async (trust) => {
    const isYes = await confirm(
      `${describeActions(trust)}\nDo you trust its folder, also after later changes?`,
      context,
    );
    if (isYes) await storeTrust(trust, environment).catch(() => {}); // The user is asked again the next time.
    return isYes;
  });
  const isAccepted = accepted.actions.length > 0;
  const beforeReload = async () => {
    await requireTrust(accepted.file, environment, async () => isAccepted);
  };
  return { ...(await loadConfig(accepted.file, { environment })), beforeReload };
}

/** Asks a question on the terminal. Returns `false` without one, where no person could answer. */
async function confirm(question: string, { options, stderr, signal }: CommandContext): Promise<boolean> {
  if (!process.stdin.isTTY || !stderr.isTerminal || options.json === true) return false;
  const { createInterface } = await import("node:readline/promises");
  const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT")); // The terminal does not send it while it is read.
  const ended = new AbortController(); // Ctrl-D is a no.
  reader.on("close", () => ended.abort());
  try {
    const reply = await reader.question(`${question} [y/N] `, { signal: AbortSignal.any([signal, ended.signal]) });
    return /^\s*y(?:es)?\s*$/i.test(reply);
  } catch (error) {
    if (signal.aborted) throw error;
    await stderr.write("\n");
    return false;
  } finally {
    reader.close();
  }
}

/** Starts a hub. An interruption ends the wait for its sources. */
export async function startHub(config: HubConfig, options: HubOptions, signal: AbortSignal): Promise<Hub> {
  let started: Hub | undefined;
  const onStart = (hub: Hub) => {
    started = hub;
    options.onStart?.(hub);
  };
  const starting = createHub(config, { ...options, onStart });
  try {
    return await waitFor(starting, { signal }, () => new CallError("ABORTED", "The start of the hub was interrupted."));
  } catch (error) {
    starting.catch(() => {}); // It ends when the hub is closed.
    const closing = started?.close() ?? starting.then((hub) => hub.close());
    await settlesWithin(maxClosingMs, closing); // The programs that it has started must not outlive this one.
    throw error;
  }
}

/** Opens the hub of a configuration in this process, without serving it. Its user has all scopes. */
export async function openConfig(context: TargetContext): Promise<Target> {
  const { signal, operation } = context;
  const { config: loaded, ...place } = await readConfig(context);
  // The history file belongs to the hub that serves this configuration, which may be running.
  const { file: _, ...history } = loaded.history ?? {};
  const config = { ...loaded, history };
  const sources = selectSources(config, operation);
  const options = { ...place, environment: context.environment, listen: false, startTimeout: timeoutsOf(context).call };
  const hub = await startHub({ ...config, sources }, options, signal);
  if (operation !== undefined && hub.registry.getSpec(operation) === undefined) await hub.reload(config);
  const { registry } = hub;
  const identity = createOperator();
  return createLocalTarget(context, registry, { label: place.file, identity, close: () => hub.close() });
}

/**
 * The sources that have to start for one operation. An API or an MCP server calls nothing else, so its operations need only
 * that source. Modules may call every other source.
 */
function selectSources({ sources = {} }: ResolvedConfig, operation: string | undefined): typeof sources {
  const found = Object.entries(sources).find(
    ([name, source]) =>
      ("openapi" in source || "mcp" in source) && operation?.startsWith(`${source.namespace ?? name}.`),
  );
  return found === undefined ? sources : Object.fromEntries([found]);
}

import { createHub, type LoadedConfig } from "../../hub/index.ts";
import { findStateFolder } from "../../hub/state-folder.ts";
import {
  type CheckResult,
  checkHistory,
  checkNode,
  checkPackages,
  checkPort,
  checkProxy,
  checkSource,
  checkStateFolder,
} from "../checks.ts";
import { defineCommand } from "../command.ts";
import { readConfig } from "../config-target.ts";
import { exitCodes, toFailure } from "../failures.ts";
import { type Colors, redirectOutput, toPrintable } from "../output-stream.ts";
import { type TargetContext, targetOptions, timeoutOf, withTarget } from "../target.ts";

declare const __PACKAGE_VERSION__: string;

/** `operations doctor` */
export const doctor = defineCommand({
  examples: ["doctor", "doctor --config operations.config.ts", "doctor --hub http://127.0.0.1:4000"],
  options: targetOptions,
  run: async (context) => {
    const { options, stdout, stderr, environment, folder } = context;
    redirectOutput(stderr); // Modules may print.
    const results = [
      checkNode(process.versions.node),
      ...(await checkPackages(folder, __PACKAGE_VERSION__)),
      checkStateFolder(findStateFolder(environment)),
      ...(isNamed(options) ? [await checkTarget(context)] : await checkProject(context)),
    ];
    if (options.json) await stdout.write(`${JSON.stringify(results)}\n`);
    else await stdout.write(results.map((result) => format(result, stdout.colors)).join(""));
    return results.find(({ status }) => status === "problem")?.exitCode ?? exitCodes.ok;
  },
});

/** Checks the configuration, and everything that it names. */
async function checkProject(context: TargetContext): Promise<CheckResult[]> {
  let loaded: LoadedConfig | undefined;
  try {
    loaded = await readConfig(context);
  } catch (error) {
    return [toProblem("config", error, "Correct the file. docs/hub.md in the package describes every field.")];
  }
  if (loaded === undefined) {
    const message = "There is no operations.config file in this folder.";
    return [
      { check: "config", status: "warning", message, fix: "Create one with `operations init`, or pass --config." },
    ];
  }
  const { config, file, folder } = loaded;
  return [
    { check: "config", status: "ok", message: `${file} is valid.` },
    ...(await checkHistory(config, folder)),
    await checkPort(config, context.environment),
    ...checkProxy(config, context.environment),
    ...(await checkSources(loaded, context)),
  ];
}

/** Starts every source as the hub does, without serving it. */
async function checkSources({ config, file, folder }: LoadedConfig, context: TargetContext): Promise<CheckResult[]> {
  const { environment } = context;
  const startTimeout = timeoutOf(context);
  // The history is left alone: a running hub may be writing it.
  const { history: _history, ...rest } = config;
  try {
    const hub = await createHub(rest, { file, folder, environment, listen: false, startTimeout, log: false });
    const states = hub.sources();
    await hub.close();
    if (states.length > 0) return states.map(checkSource);
    const message = "The configuration has no sources.";
    return [
      { check: "sources", status: "warning", message, fix: "Add one: docs/hub.md in the package shows all kinds." },
    ];
  } catch (error) {
    return [toProblem("sources", error, "Correct the configuration of the sources.")];
  }
}

/** Whether an option names something else than a configuration. */
function isNamed({ hub, openapi, mcp, "mcp-command": command }: TargetContext["options"]): boolean {
  return [hub, openapi, mcp, command].some((value) => value !== undefined);
}

/** Connects to a running hub or one source. */
async function checkTarget(context: TargetContext): Promise<CheckResult> {
  const check = "target";
  try {
    return await withTarget(context, async (target) => {
      const { length } = await target.list(undefined, { brief: true, timeout: timeoutOf(context) });
      return { check, status: "ok", message: `${target.label} responds and has ${length} operations for you.` };
    });
  } catch (error) {
    return toProblem(
      check,
      error,
      "Check that a server runs at that address, and for a hub that OPERATIONS_TOKEN is set.",
    );
  }
}

/** A failure of a command, which has that exit code. */
function toProblem(check: string, error: unknown, fix: string): CheckResult {
  const { report, exitCode } = toFailure(error, undefined);
  const isUntrusted = report.code === "CONFIG_NOT_TRUSTED"; // Its message describes what to do.
  return { check, status: "problem", message: report.message, ...(!isUntrusted && { fix }), exitCode };
}

function format({ check, status, message, fix }: CheckResult, colors: Colors): string {
  const color = { ok: colors.green, warning: colors.yellow, problem: colors.red }[status];
  const indented = toPrintable(message).replaceAll("\n", "\n  ");
  const line = `${color(status.padEnd(7))}  ${toPrintable(check)}: ${indented}\n`;
  return fix === undefined ? line : `${line}  fix: ${fix}\n`;
}

import {
  type CallError,
  nearestOperation,
  type OperationSpec,
  operationNotFound,
  type ResponseEnvelope,
} from "../operation/index.ts";
import type { CommandContext, CommandOptions } from "./command.ts";
import { usageError } from "./failures.ts";

/** Options of a call that a command makes. */
export interface TargetCallOptions {
  /** Ends the call. */
  signal?: AbortSignal | undefined;
  /** Time limit in ms. */
  timeout?: number | undefined;
}

/** Options of a list of operations. */
export interface ListOptions extends TargetCallOptions {
  /** Whether schemas are not needed, which takes less time over a network. @default false */
  brief?: boolean;
}

/**
 * What a command works on: the hub of a configuration or one source, which run in this process, or a running hub. Specs
 * are those that callers see: without handler.
 */
export interface Target {
  /** Where the operations come from, for messages, such as `http://127.0.0.1:4000`. */
  readonly label: string;
  /** Finds operations, best match first. Without a query, all in the order of their sources. */
  list(query?: string, options?: ListOptions): Promise<OperationSpec[]>;
  /** Finds an operation by its id. */
  find(id: string, options?: TargetCallOptions): Promise<OperationSpec | undefined>;
  /** Calls a query or mutation. */
  call(id: string, input: unknown, options?: TargetCallOptions): Promise<ResponseEnvelope>;
  /** Subscribes to an operation. */
  subscribe(id: string, input: unknown, options?: TargetCallOptions): AsyncIterable<ResponseEnvelope>;
  /** Ends everything that was started. */
  close(): Promise<void>;
}

/** Options of the commands that work on a target. Without any of them, `OPERATIONS_HUB` or a configuration in the folder is used. */
export const targetOptions = {
  config: { type: "string", value: "FILE", description: "Work on the operations of a configuration." },
  hub: { type: "string", value: "URL", description: "Work on a running hub. Its token is OPERATIONS_TOKEN." },
  openapi: { type: "string", value: "URL|FILE", description: "Work on the API of an OpenAPI document." },
  "base-url": { type: "string", value: "URL", description: "Send the requests of --openapi to this URL." },
  mcp: { type: "string", value: "URL", description: "Work on an MCP server." },
  "mcp-command": { type: "string", value: "COMMAND", description: "Work on an MCP server that this command starts." },
  timeout: { type: "string", value: "DURATION", description: "Time limit, such as 500ms or 5s. Default: 30s." },
} as const satisfies CommandOptions;

/** The context of a command that works on a target. */
export type TargetContext = CommandContext<typeof targetOptions>;

/** Default time limit of connecting and of a call, in ms. */
const defaultTimeoutMs = 30_000;

const kinds = ["config", "hub", "openapi", "mcp", "mcp-command"] as const;

/** Returns the option that names the target; `undefined` if it is missing. Throws if there are two. */
export function assertOneTarget(options: Partial<TargetContext["options"]>): (typeof kinds)[number] | undefined {
  const given = kinds.filter((kind) => options[kind] !== undefined);
  if (given.length > 1) throw usageError(`Pass --${given[0]} or --${given[1]}, not both.`);
  if (options["base-url"] !== undefined && given[0] !== "openapi") {
    throw usageError("The option --base-url is for --openapi only.");
  }
  return given[0];
}

/** The error of a command that found no target. */
export function nothingToWorkOn(): CallError {
  return usageError(
    "There is nothing to work on. Pass --openapi, --mcp, --mcp-command, --hub or --config, or run the command in a folder with an operations.config file.",
  );
}

/** Opens what the options name. The command closes it. */
export async function openTarget(context: TargetContext): Promise<Target> {
  const { options, environment } = context;
  const kind = assertOneTarget(options);
  const timeout = timeoutOf(context);
  const hub = options.hub ?? (kind === undefined ? environment["OPERATIONS_HUB"] || undefined : undefined);
  if (hub !== undefined) return (await import("./hub-target.ts")).openHub(hub, environment);
  if (kind !== "config" && kind !== undefined) return (await import("./source-target.ts")).openSource(context, timeout);
  const target = await (await import("./config-target.ts")).openConfig(context, timeout);
  if (target === undefined) throw nothingToWorkOn();
  return target;
}

/** Opens the target, works on it, and closes it also when the work fails. */
export async function withTarget<T>(context: TargetContext, work: (target: Target) => Promise<T>): Promise<T> {
  const target = await openTarget(context);
  try {
    return await work(target);
  } finally {
    await target.close();
  }
}

/** Finds an operation. Fails with the id that was probably meant, which is never called instead. */
export async function findOperation(target: Target, id: string, options: TargetCallOptions): Promise<OperationSpec> {
  const spec = await target.find(id, options);
  if (spec !== undefined) return spec;
  throw operationNotFound(id, nearestOperation(id, await target.list(undefined, { ...options, brief: true }), "all"));
}

/** The time limit of the command in ms. */
export function timeoutOf({ options }: TargetContext): number {
  if (options.timeout === undefined) return defaultTimeoutMs;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(options.timeout) ?? [];
  const ms = Number(digits) * { ms: 1, s: 1_000, m: 60_000 }[unit as "ms" | "s" | "m"];
  if (ms > 0) return ms;
  throw usageError("The option --timeout takes a duration above 0, such as 500ms, 5s or 2m.");
}

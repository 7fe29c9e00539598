import type { Environment, SourceState } from "../hub/index.ts";
import { quote } from "../internal/text.ts";
import {
  mapError,
  nearestOperation,
  type OperationSpec,
  operationNotFound,
  type ResponseEnvelope,
} from "../operation/inside.ts";
import type { CommandContext, CommandOptions } from "./command.ts";
import { usageError } from "./failures.ts";

/** Selects operations, as the input of `hub.operations` does. */
export interface OperationQuery {
  /** Words to search for, best match first. @default all operations, in the order of their sources */
  query?: string | undefined;
  /** Only the operation with this id. */
  id?: string;
  /** Whether schemas are not needed, which takes less time over a network. @default false */
  brief?: boolean;
}

/** An operation as callers see it: its spec without handler, and the name of its source if a running hub reports it. */
export type FoundOperation = OperationSpec & { readonly source?: string };

/**
 * What a command works on: the hub of a configuration or one source, which run in this process, or a running hub. Calls
 * end with the time limit of the command, and when the user interrupts it.
 */
export interface Target {
  /** Where the operations come from, for messages, such as `http://127.0.0.1:4000`. */
  readonly label: string;
  /** Whether it is a running hub. Others log in this process why their sources are not ready. @default false */
  readonly isHub?: boolean;
  /** Finds operations. */
  find(query: OperationQuery): Promise<FoundOperation[]>;
  /** Calls a query or mutation. */
  call(id: string, input: unknown): Promise<ResponseEnvelope>;
  /** Subscribes to an operation. */
  subscribe(id: string, input: unknown): AsyncIterable<ResponseEnvelope>;
  /** Ends everything that was started. */
  close(): Promise<void>;
}

/** Options of the commands that work on a target. Without any of them, `OPERATIONS_HUB` or a configuration in the folder is used. */
export const targetOptions = {
  config: { type: "string", value: "FILE", description: "Use the operations of a configuration." },
  hub: { type: "string", value: "URL", description: "Use a running hub. Its token is OPERATIONS_TOKEN." },
  openapi: { type: "string", value: "[NAME=]URL|FILE", description: "Use the API of an OpenAPI document." },
  mcp: { type: "string", value: "[NAME=]URL", description: "Use an MCP server." },
  "mcp-command": {
    type: "string",
    value: "[NAME=]COMMAND",
    description: "Use an MCP server that this command starts.",
  },
  "base-url": { type: "string", value: "URL", description: "Send the requests of the API to this URL." },
  header: { type: "string", value: "NAME:VALUE", description: "Send this header to the API or MCP server." },
  token: { type: "string", value: "TOKEN", description: "Send this token to the API, MCP server or hub." },
  timeout: {
    type: "string",
    value: "DURATION",
    description: "Time limit, such as 500ms or 5s. Default: 30s, or none for subscriptions.",
  },
} as const satisfies CommandOptions;

/** The context of a command that works on a target. */
export type TargetContext = CommandContext<typeof targetOptions>;

/** Default time limit of connecting and of a call, in ms. */
const defaultTimeoutMs = 30_000;

const kinds = { config: "config", hub: "hub", openapi: "sources", mcp: "sources", "mcp-command": "sources" } as const;

/** Returns what the options name; `undefined` if they name nothing. Throws if they name two that exclude each other. */
export function kindOf(options: Partial<TargetContext["options"]>): "config" | "hub" | "sources" | undefined {
  const [first, ...others] = Object.entries(kinds).filter(
    ([name]) => options[name as keyof typeof kinds] !== undefined,
  );
  const other = others.find(([, kind]) => kind !== "sources" || kind !== first?.[1]);
  if (other !== undefined) throw usageError(`Pass --${first![0]} or --${other[0]}, not both.`);
  const kind = first?.[1];
  if (kind !== "sources" && options["base-url"] !== undefined) {
    throw usageError("The option --base-url is for --openapi only.");
  }
  if (kind !== "sources" && options.header !== undefined) {
    throw usageError("The option --header is for --openapi and --mcp only.");
  }
  if (kind !== "config" || options.token === undefined) return kind;
  throw usageError("The option --token is for --openapi, --mcp and --hub only.");
}

/** Returns the URL of the hub that `--hub` names, or else `OPERATIONS_HUB`; `undefined` if an option names another target. */
export function hubOf(options: Partial<TargetContext["options"]>, environment: Environment): string | undefined {
  return kindOf(options) === undefined ? environment["OPERATIONS_HUB"] || undefined : options.hub;
}

/** Options of the commands that work on a running hub. */
export const hubOptions = {
  hub: { ...targetOptions.hub, description: "The running hub. Default: OPERATIONS_HUB, or http://127.0.0.1:4000." },
  token: { ...targetOptions.token, description: "Its token. Default: OPERATIONS_TOKEN, or the one that it stored." },
  timeout: targetOptions.timeout,
} as const satisfies CommandOptions;

/** Opens what the options name, works on it, and closes it also when the work fails. */
export async function withTarget<T>(context: TargetContext, work: (target: Target) => Promise<T>): Promise<T> {
  return closeAfter(await openTarget(context), work);
}

/** Opens a running hub, works on it, and closes the connection also when the work fails. */
export async function withHub<T>(
  context: CommandContext<typeof hubOptions>,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  const { openHub } = await import("./hub-target.ts");
  const url = hubOf(context.options, context.environment) ?? "http://127.0.0.1:4000";
  return closeAfter(await openHub(url, context), (target) =>
    work(target).catch((error) => {
      if (mapError(error).code !== "OPERATION_NOT_FOUND") throw error;
      throw usageError(`${quote(target.label)} is not a hub, so it records no calls and has no sources.`);
    }),
  );
}

async function closeAfter<T>(target: Target, work: (target: Target) => Promise<T>): Promise<T> {
  try {
    return await work(target);
  } finally {
    await target.close();
  }
}

async function openTarget(context: TargetContext): Promise<Target> {
  const hub = hubOf(context.options, context.environment);
  if (hub !== undefined) return (await import("./hub-target.ts")).openHub(hub, context);
  const kind = kindOf(context.options);
  if (kind === "config" || kind === undefined) return (await import("./config-target.ts")).openConfig(context);
  return (await import("./source-target.ts")).openSources(context);
}

/** Returns the URL of a hub that the user named. Throws if it cannot be one. */
export function toHubURL(hub: string): URL {
  const url = URL.canParse(hub) ? new URL(hub) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw usageError(`${quote(hub)} is not the URL of a hub. It begins with http:// or https://.`);
  }
  if (url.username + url.password === "") return new URL(url.origin + url.pathname);
  throw usageError("The URL of a hub must not contain credentials. Set OPERATIONS_TOKEN instead.");
}

/** Finds an operation. Fails with the id that was probably meant, which is never called instead. */
export async function findOperation(target: Target, id: string): Promise<FoundOperation> {
  const [spec] = await target.find({ id });
  if (spec !== undefined) return spec;
  throw operationNotFound(id, nearestOperation(id, await target.find({ brief: true }), "all"));
}

/** Returns the states of the sources of a hub, none for one source. Returns `undefined` if the caller may not see them. */
export async function readSources(target: Target): Promise<SourceState[] | undefined> {
  try {
    return (await target.call("hub.sources", {})).data as SourceState[];
  } catch (error) {
    const { code } = mapError(error);
    if (code === "ACCESS_DENIED") return undefined;
    if (code === "OPERATION_NOT_FOUND") return [];
    throw error;
  }
}

/** Returns a sentence about each source that is not ready. */
export function describeUnready(sources: readonly SourceState[]): string[] {
  const unready = sources.filter(({ status }) => status !== "ready");
  return unready.map(({ name, status, reason = `it is ${status}` }) => {
    return `The source ${quote(name)} is not ready: ${reason.replace(/\.$/, "")}.`;
  });
}

/** Formats a number of things, such as `1 operation` or `2 operations`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The time limits of a command in ms: of connecting and of a call, and of a subscription, which has none by default. */
export function timeoutsOf({ options }: { readonly options: { readonly timeout?: string | undefined } }): {
  call: number;
  subscription: number | undefined;
} {
  if (options.timeout === undefined) return { call: defaultTimeoutMs, subscription: undefined };
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(options.timeout) ?? [];
  const ms = Number(digits) * { ms: 1, s: 1_000, m: 60_000 }[unit as "ms" | "s" | "m"];
  if (ms > 0) return { call: ms, subscription: ms };
  throw usageError("The option --timeout takes a duration above 0, such as 500ms, 5s or 2m.");
}

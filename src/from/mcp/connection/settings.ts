import type * as MCPSDK from "@modelcontextprotocol/client";
import { isSecretName } from "../../../internal/secrets.ts";
import { quote } from "../../../internal/text.ts";
import { CallError, defaultLimits, loadPeer, resolveDuration, resolveLimits } from "../../../operation/inside.ts";
import type { MCPClientConfig, MCPLimits, MCPTimeouts } from "../config.ts";
import type { Authorisation } from "./auth.ts";
import { StderrLines } from "./program-output.ts";

/** The client part of the official SDK. */
export type SDK = typeof MCPSDK;

/** The resolved configuration of a connection, and the state that its sessions share. */
export interface ConnectionSettings {
  readonly sdk: SDK;
  /** Name of the server. */
  readonly name: string;
  readonly config: MCPClientConfig;
  readonly timeouts: Required<MCPTimeouts>;
  readonly limits: Readonly<Required<MCPLimits>>;
  /** Values that must not appear in errors and logs. Values that functions return are added later. */
  readonly secrets: Set<string>;
  readonly stderr: StderrLines;
  /** Created for the first HTTP session. */
  authorisation?: Authorisation;
  /** Number of ignored responses of all sessions. */
  ignoredResponses: number;
  /** Results of earlier negotiations with the server, so that the next session can skip them. */
  known?: { transport?: "http" | "sse"; modern?: boolean };
}

const defaultMCPLimits: Required<MCPLimits> = { ...defaultLimits, lineBytes: 10 * 1024 * 1024, pages: 64 };

/** Loads the SDK and resolves defaults. Throws `VALIDATION_ERROR` for an invalid number. */
export async function resolveSettings(name: string, config: MCPClientConfig): Promise<ConnectionSettings> {
  const { timeouts = {} } = config;
  const secrets = findSecrets(config);
  return {
    sdk: await loadSDK(),
    name,
    config,
    secrets,
    stderr: new StderrLines(secrets),
    limits: resolveLimits(config.limits, defaultMCPLimits),
    ignoredResponses: 0,
    timeouts: {
      connect: resolveDuration("timeouts.connect", timeouts.connect, 60_000),
      request: resolveDuration("timeouts.request", timeouts.request, 60_000),
      stop: resolveDuration("timeouts.stop", timeouts.stop, 2_000),
      kill: resolveDuration("timeouts.kill", timeouts.kill, 3_000),
    },
  };
}

let sdk: Promise<SDK> | undefined;

/** Loads the SDK on first use, because it is an optional peer dependency and slow to load. */
function loadSDK(): Promise<SDK> {
  const load = () => import("@modelcontextprotocol/client");
  sdk ??= loadPeer("@modelcontextprotocol/client", "MCP servers", load).catch((error) => {
    sdk = undefined; // The package may be installed while this process runs.
    throw error;
  });
  return sdk;
}

/** Throws `VALIDATION_ERROR` unless the configuration names one server that can be reached. */
export function assertReachable(name: string, { command, url, transport }: MCPClientConfig): void {
  if (typeof transport === "function") return;
  if ((command === undefined) === (url === undefined)) {
    throw misconfigured(name, 'Set either "command" for a program or "url" for an HTTP server.');
  }
  if (url === undefined) return;
  if (!URL.canParse(url)) throw misconfigured(name, '"url" must be an absolute URL.');
  const { protocol, username, password } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") throw misconfigured(name, '"url" must use http or https.');
  if (username !== "" || password !== "") {
    throw misconfigured(name, '"url" must not contain credentials. Pass them as "auth" or "headers".');
  }
}

function misconfigured(name: string, advice: string): CallError {
  const message = `The configuration of the MCP server ${quote(name)} is invalid. ${advice}`;
  return new CallError("VALIDATION_ERROR", message, { server: name }, { mayHaveRun: false });
}

/** A word, a number, a path or the address of a website. Any other value of a variable may be a secret, whatever its name. */
const harmlessValue = /^(?:[a-z][a-z-]*|[\d.:]+|[~.]{0,2}[\\/].*|[A-Za-z]:[\\/].*|https?:\/\/[^@?]*)$/s;

/** Returns the secrets in a configuration. Values that its functions return are added when they are called. */
function findSecrets({ env = {}, headers, auth }: MCPClientConfig): Set<string> {
  const secrets = new Set<string>();
  for (const [name, value] of Object.entries(env)) {
    if (isSecretName(name) || !harmlessValue.test(value)) secrets.add(value);
  }
  if (typeof headers === "object") addSecretHeaders(secrets, headers);
  if (auth?.type === "bearer" && typeof auth.token === "string") secrets.add(auth.token);
  if (auth?.type === "clientCredentials") secrets.add(auth.clientSecret);
  return secrets;
}

/** Adds the values of headers that contain credentials, with and without their scheme. */
export function addSecretHeaders(secrets: Set<string>, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!isSecretName(name)) continue;
    secrets.add(value);
    const [, credential] = value.split(" ", 2);
    if (credential) secrets.add(credential);
  }
}

import type { StoredToken } from "../auth/index.ts";
import type { MCPClientConfig } from "../from/mcp/index.ts";
import type { HTTPServiceConfig, OpenAPISourceOptions } from "../from/openapi/index.ts";
import type { AccessControl, OperationType } from "../operation/index.ts";
import type { OperationSelection } from "../registry/index.ts";
import type { NATSTransportOptions } from "../transport/nats/index.ts";
import type { RedisTransportOptions } from "../transport/redis/index.ts";

/** Marks an {@link EnvReference}. Copies of this package share it: the command line and a configuration have one each. */
export const envReference: unique symbol = Symbol.for("@alkdev/operations/env");

/** A variable of the environment, whose value is read when the hub starts. Created by {@link env}. */
export interface EnvReference {
  /** Name of the variable. */
  readonly env: string;
  /** Distinguishes the reference from an object of the configuration with a key `env`. */
  readonly [envReference]: true;
}

type Callable = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown);

/** A configuration in which every string may also be an {@link EnvReference}. */
export type WithEnv<T> = T extends string
  ? T | EnvReference
  : T extends Callable
    ? T
    : T extends object
      ? { [K in keyof T]: WithEnv<T[K]> }
      : T;

/** A configuration without {@link EnvReference}s: the opposite of {@link WithEnv}. */
export type WithoutEnv<T> = T extends EnvReference
  ? never
  : T extends Callable
    ? T
    : T extends object
      ? { [K in keyof T]: WithoutEnv<T[K]> }
      : T;

/** A checked {@link HubConfig}: variables have been replaced by their values, and paths are absolute. */
export type ResolvedConfig = WithoutEnv<HubConfig>;

/** Options that all sources share. The key of a source in {@link HubConfig.sources} is its name. */
export interface SourceOptions extends OperationSelection {
  /** New names by id in the source, such as `{ "github.issues/list": "issues" }`. */
  rename?: Readonly<Record<string, string>>;
  /**
   * Namespace of its operations. @default the name of the source or of the server in `mcpConfig`; modules, peers and
   * trusted servers keep their own
   */
  namespace?: string;
  /** Access rule of its operations. @default requires the scope with the name of the source */
  accessControl?: AccessControl;
}

/** How the hub proves its identity and checks that of others on a message bus. */
export interface BusTrust {
  /**
   * Key with which calls are signed, and signed calls are checked: a secret of at least 32 characters that all peers
   * share, or the PEM of a private key (PKCS #8). Other programs on the bus sign with `createJWTSigner` and check with
   * `createJWTAuthenticator`, both with the audience `operations`.
   */
  sign?: string | EnvReference;
  /** Trusts everyone who can connect to the bus. Set it only for a bus without other users. @default false */
  trustedBus?: boolean;
  /** Also serves the operations of the hub on this bus, except those that came from it. @default false */
  serve?: boolean;
}

/** A source of operations. The field that only one kind of source has decides which kind it is. */
export type SourceConfig = SourceOptions &
  (
    | {
        /** Folder of modules with operations: its path, relative to the configuration file. */
        modules: string;
      }
    | (Pick<OpenAPISourceOptions, "refresh" | "pinned"> &
        WithEnv<Omit<HTTPServiceConfig, keyof SourceOptions | "onReport" | "fetch">> & {
          /** HTTP API: the URL of its OpenAPI document, or the path relative to the configuration file. */
          openapi: string | EnvReference;
          /** `"operations"` for a server of this package that you trust: its operations keep their specs and errors. */
          trust?: "operations";
        })
    | {
        /** MCP server: how to start it or connect to it. */
        mcp: WithEnv<Omit<MCPClientConfig, "accessControl" | "onReport" | "fetch">>;
      }
    | {
        /** MCP servers in a configuration file of an editor or agent. */
        mcpConfig: {
          /** Path of the file, relative to the configuration file; `~` is the home folder. */
          file: string;
          /** Names of the servers to use. @default all */
          servers?: readonly string[];
        };
      }
    | {
        /** Peers on NATS: the bus. */
        nats: BusTrust & WithEnv<Omit<NATSTransportOptions, "connection">>;
      }
    | {
        /** Peers on Redis: the bus. */
        redis: BusTrust &
          WithEnv<Omit<RedisTransportOptions, "client" | "connect">> & {
            /** Further options of the client: user, password, number of the database, TLS. */
            connect?: WithEnv<
              Pick<NonNullable<RedisTransportOptions["connect"]>, "username" | "password" | "database" | "socket">
            >;
          };
      }
    | {
        /** Registry that is served over WebSocket: the server. */
        websocket: WithEnv<{
          /** Its URL, such as `ws://127.0.0.1:4000/calls`. */
          url: string;
          /** Authenticates the hub. */
          auth?: {
            /** Type of the credential. */
            type: "bearer";
            /** Token of the hub at that server. */
            token: string;
          };
        }>;
      }
  );

/** Where and how the hub serves its operations. */
export interface HubServeConfig {
  /** Address of the interface. @default "127.0.0.1" */
  host?: string;
  /** Port; 0 selects a free one. @default 4000 */
  port?: number;
  /** Serves HTTP and the OpenAPI document at `/`. @default true */
  http?: boolean;
  /** Serves MCP at `/mcp`. @default true */
  mcp?: boolean;
  /** Serves the call protocol over WebSocket at `/calls`. @default true */
  websocket?: boolean;
  /** Serves the console at `/console/`. @default whether only this machine can reach the hub */
  console?: boolean;
}

/** Who may call. */
export interface HubAccessConfig {
  /** Tokens, stored as hashes. `operations token` creates them. */
  tokens?: readonly StoredToken[];
}

/** A rule that restricts operations. All rules that match apply; a rule never allows more. */
export interface HubRule {
  /** Ids of operations, in which `*` matches any characters, before or after renaming. */
  match: string;
  /** Only operations of this type. @default all */
  type?: OperationType;
  /** Scopes that callers need in addition. */
  requiredScopes?: readonly string[];
  /** Removes the operations, for nested calls too. @default false */
  deny?: boolean;
}

/** What the hub records about calls. */
export interface HistoryConfig {
  /** Database file, relative to the configuration file. @default calls are recorded in memory only */
  file?: string;
  /** How long calls are kept, such as `"7d"`, `"12h"` or `"30m"`. @default "7d" */
  keep?: string;
  /** Maximum number of calls in memory. @default 1,000 */
  limit?: number;
  /** Ids of operations whose input, output and error details are recorded; `*` matches any characters. @default none */
  payloads?: readonly string[];
}

/** Configuration of a hub. */
export interface HubConfig {
  /** Address of the JSON Schema, for editors. */
  $schema?: string;
  /** Where operations come from, by name. */
  sources?: Readonly<Record<string, SourceConfig>>;
  /** Where and how they are served. */
  serve?: HubServeConfig;
  /** Who may call. @default a token that the hub creates */
  access?: HubAccessConfig;
  /** Rules that restrict operations. */
  rules?: readonly HubRule[];
  /** What is recorded about calls. @default the last 1,000 calls, in memory */
  history?: HistoryConfig;
}

/**
 * Checks the types of a configuration and returns it unchanged.
 * @example
 * export default defineConfig({ sources: { tasks: { modules: "./operations" } } });
 */
export function defineConfig(config: HubConfig): HubConfig {
  return config;
}

/** Refers to a variable of the environment. A variable that is not set is an error that names it and its place. */
export function env(name: string): EnvReference {
  return { env: name, [envReference]: true };
}

/** Returns whether a value was created by {@link env}. */
export function isReference(value: unknown): value is EnvReference {
  return typeof value === "object" && value !== null && Object.hasOwn(value, envReference);
}

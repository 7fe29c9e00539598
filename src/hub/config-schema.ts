import { type Static, type TObject, type TProperties, type TSchema, Type } from "typebox";
import { defaultLimits, type Limits, namespacePattern } from "../operation/index.ts";

/**
 * The description of a configuration. The check of configurations and the JSON Schema for editors follow from it, and a type
 * test compares it with `HubConfig`. Variables have been replaced by their values. Every object is closed, so that a
 * mistyped key is found. `errorMessage` completes a sentence about an invalid value; editors show it too.
 */

const { Array: list, Boolean: boolean, Number: number, Optional: optional, String: string } = Type;

function closed<T extends TProperties>(properties: T): TObject<T> {
  return Type.Object(properties, { additionalProperties: false });
}

function literals<const T extends readonly string[]>(...values: T) {
  return Type.Unsafe<T[number]>({ type: "string", enum: values });
}

/** A function. Values with `isProgramOnly` exist in programs only; the JSON Schema for editors does not contain them. */
const functionSchema = Type.Unsafe<(...args: never[]) => unknown>({ type: "function", isProgramOnly: true });

function orFunction<T extends TSchema>(schema: T) {
  return Type.Union([schema, functionSchema]);
}

function orBoolean<T extends TSchema>(schema: T) {
  return Type.Union([boolean(), schema]);
}

const strings = list(string());
const stringMap = Type.Record(Type.String(), string());
const anyObject = Type.Record(Type.String(), Type.Unknown());
const positive = number({ exclusiveMinimum: 0, errorMessage: "must be a number above 0" });
const count = number({ minimum: 0, errorMessage: "must be a number of 0 or more" });
const secret = string({ minLength: 1, errorMessage: "must be a string that is not empty" });
const outputPolicy = literals("cast", "check", "strict");

const limitNames = Object.keys(defaultLimits) as Array<keyof Limits>;
const limitFields = Object.fromEntries(limitNames.map((name) => [name, optional(positive)])) as Record<
  keyof Limits,
  ReturnType<typeof optional<typeof positive>>
>;
const limits = closed(limitFields);

const accessControl = closed({
  requiredScopes: strings,
  requiredScopesAny: optional(strings),
  resourceType: optional(string()),
  resourceAction: optional(string()),
  resourceId: optional(string()),
  customAuth: optional(string()),
});

const sourceOptions = {
  include: optional(strings),
  exclude: optional(strings),
  rename: optional(stringMap),
  namespace: optional(
    string({
      pattern: namespacePattern.source,
      errorMessage: "must be 1 to 64 characters without dots or control characters",
    }),
  ),
  accessControl: optional(accessControl),
};

const httpAuth = closed({
  type: literals("bearer", "apiKey", "basic", "oauth2"),
  token: optional(orFunction(secret)),
  username: optional(orFunction(string())),
  password: optional(orFunction(string())),
  headerName: optional(string()),
  prefix: optional(string()),
  in: optional(literals("header", "query", "cookie")),
  name: optional(string()),
  tokenUrl: optional(string()),
  clientId: optional(orFunction(secret)),
  clientSecret: optional(orFunction(secret)),
  scopes: optional(strings),
});

const paginationRule = Type.Union([
  closed({ kind: literals("link") }),
  closed({ kind: literals("cursor"), parameter: string(), cursor: string() }),
  closed({
    kind: literals("offset"),
    parameter: string(),
    limitParameter: optional(string()),
    items: optional(string()),
  }),
  closed({ kind: literals("page"), parameter: string(), items: optional(string()) }),
]);

const openAPISource = closed({
  openapi: string(),
  ...sourceOptions,
  trust: optional(literals("operations")),
  refresh: optional(positive),
  pinned: optional(orBoolean(stringMap)),
  baseUrl: optional(string()),
  headers: optional(orFunction(stringMap)),
  remoteHeaders: optional(strings),
  auth: optional(Type.Union([httpAuth, functionSchema, closed({ schemes: Type.Record(Type.String(), httpAuth) })])),
  timeout: optional(positive),
  retry: optional(
    orBoolean(closed({ retries: optional(count), delay: optional(positive), maxDelay: optional(positive) })),
  ),
  breaker: optional(orBoolean(closed({ failures: optional(positive), cooldown: optional(positive) }))),
  concurrency: optional(positive),
  idleTimeout: optional(positive),
  reconnect: optional(
    orBoolean(
      closed({
        attempts: optional(count),
        delay: optional(positive),
        maxDelay: optional(positive),
        allowGaps: optional(boolean()),
      }),
    ),
  ),
  limits: optional(limits),
  pagination: optional(
    Type.Union([
      Type.Literal(false),
      paginationRule,
      closed({ operations: Type.Record(Type.String(), paginationRule) }),
    ]),
  ),
  serverVariables: optional(stringMap),
  allowedOrigins: optional(strings),
  documentUrl: optional(string()),
  externalRefs: optional(closed({ hosts: optional(strings), files: optional(strings), timeout: optional(positive) })),
  outputPolicy: optional(outputPolicy),
});

/** An object of the MCP SDK. */
const provider = Type.Unsafe<object>({ type: "object", isProgramOnly: true });

const mcpAuth = Type.Union([
  closed({ type: literals("bearer"), token: orFunction(secret) }),
  closed({
    type: literals("clientCredentials"),
    clientId: secret,
    clientSecret: secret,
    scope: optional(string()),
    expectedIssuer: optional(string()),
  }),
  closed({ type: literals("provider"), provider, expectedIssuer: optional(string()) }),
]);

const mcpServer = closed({
  command: optional(string({ minLength: 1 })),
  args: optional(strings),
  env: optional(stringMap),
  inheritEnv: optional(strings),
  cwd: optional(string()),
  url: optional(string()),
  headers: optional(orFunction(stringMap)),
  auth: optional(mcpAuth),
  transport: optional(orFunction(literals("http", "sse"))),
  protocol: optional(literals("auto", "legacy", "2026-07-28")),
  timeouts: optional(
    closed({
      connect: optional(positive),
      request: optional(positive),
      stop: optional(positive),
      kill: optional(positive),
    }),
  ),
  restart: optional(
    orBoolean(
      closed({
        limit: optional(count),
        window: optional(positive),
        delay: optional(positive),
        maxDelay: optional(positive),
      }),
    ),
  ),
  limits: optional(closed({ ...limitFields, lineBytes: optional(positive), pages: optional(positive) })),
  onElicit: optional(functionSchema),
  trust: optional(literals("operations")),
  trustAnnotations: optional(boolean()),
  tools: optional(closed({ include: optional(strings), exclude: optional(strings) })),
  pinned: optional(orBoolean(stringMap)),
  unwrapResults: optional(boolean()),
  resources: optional(boolean()),
  prompts: optional(boolean()),
  outputPolicy: optional(outputPolicy),
});

const bus = {
  sign: optional(secret),
  trustedBus: optional(boolean()),
  serve: optional(boolean()),
  heartbeat: optional(positive),
  limits: optional(limits),
  prefix: optional(string()),
};

/** One description for each kind of source. Its first key is the one that no other kind has. */
const sourceSchemas = [
  closed({ modules: string(), ...sourceOptions }),
  openAPISource,
  closed({ mcp: mcpServer, ...sourceOptions }),
  closed({ mcpConfig: closed({ file: string(), servers: optional(strings) }), ...sourceOptions }),
  closed({
    nats: closed({
      ...bus,
      servers: optional(Type.Union([string(), strings])),
      connect: optional(anyObject),
      inboxPrefix: optional(string()),
    }),
    ...sourceOptions,
  }),
  closed({
    redis: closed({ ...bus, url: optional(string()), connect: optional(anyObject), maxQueued: optional(positive) }),
    ...sourceOptions,
  }),
  closed({
    websocket: closed({ url: string(), auth: optional(closed({ type: literals("bearer"), token: secret })) }),
    ...sourceOptions,
  }),
] as const;

const serve = closed({
  host: optional(string({ minLength: 1 })),
  port: optional(
    Type.Integer({ minimum: 0, maximum: 65_535, errorMessage: "must be a port: an integer from 0 to 65535" }),
  ),
  http: optional(boolean()),
  mcp: optional(boolean()),
  websocket: optional(boolean()),
  console: optional(
    Type.Unsafe<boolean>({ const: false, errorMessage: "must be false, because the console does not exist yet" }),
  ),
});

const token = closed({
  hash: string({
    pattern: "^sha256:[0-9a-fA-F]{64}$",
    errorMessage: 'must be "sha256:" and 64 hexadecimal digits. Create a token and its hash with "operations token"',
  }),
  identity: closed({
    id: string({ minLength: 1 }),
    scopes: strings,
    resources: optional(Type.Record(Type.String(), strings)),
    expiresAt: optional(number()),
  }),
});

const rule = closed({
  match: string({ minLength: 1 }),
  type: optional(literals("query", "mutation", "subscription")),
  requiredScopes: optional(strings),
  deny: optional(boolean()),
});

const history = closed({
  file: optional(string({ minLength: 1 })),
  keep: optional(
    string({ pattern: "^[1-9][0-9]{0,8}[smhd]$", errorMessage: 'must be a duration such as "7d", "12h" or "30m"' }),
  ),
  limit: optional(Type.Integer({ minimum: 1, errorMessage: "must be an integer of 1 or more" })),
  payloads: optional(strings),
});

/** The description of a whole configuration. */
export const configSchema = closed({
  $schema: optional(string()),
  sources: optional(Type.Record(Type.String(), Type.Union([...sourceSchemas]))),
  serve: optional(serve),
  access: optional(closed({ tokens: optional(list(token)) })),
  rules: optional(list(rule)),
  history: optional(history),
});

/** What {@link configSchema} accepts. */
export type DescribedConfig = Static<typeof configSchema>;

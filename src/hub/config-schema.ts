import { type Static, type TObject, type TOptional, type TProperties, type TSchema, Type } from "typebox";
import { defaultLimits, type Limits, namespacePattern } from "../operation/inside.ts";

/**
 * The description of a configuration. The check of configurations and the JSON Schema for editors follow from it, and a type
 * test compares it with `HubConfig`. Variables have been replaced by their values. Every object is closed, so that a
 * mistyped key is found. `errorMessage` and refinements complete a sentence about an invalid value; editors show the first too.
 */

type AllOptional<T extends TProperties> = { [K in keyof T]: TOptional<T[K]> };

/** An object with keys that it must have, keys that it may have, and no others. */
function closed<R extends TProperties, O extends TProperties = Record<never, TSchema>>(
  required: R,
  optional?: O,
): TObject<R & AllOptional<O>> {
  const properties = Object.entries(optional ?? {}).map(([key, schema]) => [key, Type.Optional(schema)]);
  return Type.Object({ ...required, ...Object.fromEntries(properties) }, { additionalProperties: false });
}

function options<O extends TProperties>(optional: O) {
  return closed({}, optional);
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
  return Type.Union([boolean, schema]);
}

function recordOf<T extends TSchema>(schema: T) {
  return Type.Record(Type.String(), schema);
}

const boolean = Type.Boolean();
const string = Type.String();
const strings = Type.Array(string);
const stringMap = recordOf(string);
const anyObject = recordOf(Type.Unknown());
const positive = Type.Number({ exclusiveMinimum: 0, errorMessage: "must be a number above 0" });
const count = Type.Number({ minimum: 0, errorMessage: "must be a number of 0 or more" });
const nonEmpty = Type.String({ minLength: 1, errorMessage: "must be a string that is not empty" });
const outputPolicy = literals("cast", "check", "strict");

const limitFields = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, positive])) as Record<
  keyof Limits,
  typeof positive
>;
const limits = options(limitFields);

const accessControl = closed(
  { requiredScopes: strings },
  {
    requiredScopesAny: strings,
    resourceType: string,
    resourceAction: string,
    resourceId: string,
    customAuth: string,
  },
);

const sourceOptions = {
  include: strings,
  exclude: strings,
  rename: stringMap,
  namespace: Type.String({
    pattern: namespacePattern.source,
    errorMessage: "must be 1 to 64 characters without dots or control characters",
  }),
  accessControl,
};

const httpAuth = Type.Refine(
  closed(
    { type: literals("bearer", "apiKey", "basic", "oauth2") },
    {
      token: orFunction(nonEmpty),
      username: orFunction(string),
      password: orFunction(string),
      headerName: string,
      prefix: string,
      in: literals("header", "query", "cookie"),
      name: string,
      tokenUrl: string,
      clientId: orFunction(nonEmpty),
      clientSecret: orFunction(nonEmpty),
      scopes: strings,
    },
  ),
  ({ type, token, username, tokenUrl, clientId }) => {
    if (type === "oauth2") return tokenUrl !== undefined && clientId !== undefined;
    return token !== undefined || (type === "basic" && username !== undefined);
  },
  () =>
    'has no credentials. Set "token" for bearer and apiKey, "username" and "password" for basic, "tokenUrl" and "clientId" for oauth2.',
);

const paginationRule = Type.Union([
  closed({ kind: literals("link") }),
  closed({ kind: literals("cursor"), parameter: string, cursor: string }),
  closed({ kind: literals("offset"), parameter: string }, { limitParameter: string, items: string }),
  closed({ kind: literals("page"), parameter: string }, { items: string }),
]);

const openAPISource = closed(
  { openapi: string },
  {
    ...sourceOptions,
    trust: literals("operations"),
    refresh: positive,
    pinned: orBoolean(stringMap),
    baseUrl: string,
    headers: orFunction(stringMap),
    remoteHeaders: strings,
    auth: Type.Union([httpAuth, functionSchema, closed({ schemes: recordOf(httpAuth) })]),
    timeout: positive,
    retry: orBoolean(options({ retries: count, delay: positive, maxDelay: positive })),
    breaker: orBoolean(options({ failures: positive, cooldown: positive })),
    concurrency: positive,
    idleTimeout: positive,
    reconnect: orBoolean(options({ attempts: count, delay: positive, maxDelay: positive, allowGaps: boolean })),
    limits,
    pagination: Type.Union([Type.Literal(false), paginationRule, closed({ operations: recordOf(paginationRule) })]),
    serverVariables: stringMap,
    allowedOrigins: strings,
    documentUrl: string,
    externalRefs: options({ hosts: strings, files: strings, timeout: positive }),
    outputPolicy,
  },
);

/** An object of the MCP SDK. */
const provider = Type.Unsafe<object>({ type: "object", isProgramOnly: true });

const mcpAuth = Type.Union([
  closed({ type: literals("bearer"), token: orFunction(nonEmpty) }),
  closed(
    { type: literals("clientCredentials"), clientId: nonEmpty, clientSecret: nonEmpty },
    { scope: string, expectedIssuer: string },
  ),
  closed({ type: literals("provider"), provider }, { expectedIssuer: string }),
]);

/** The description of an MCP server. */
export const mcpServerSchema = Type.Refine(
  options({
    command: nonEmpty,
    args: strings,
    env: stringMap,
    inheritEnv: strings,
    cwd: string,
    url: string,
    headers: orFunction(stringMap),
    auth: mcpAuth,
    transport: orFunction(literals("http", "sse")),
    protocol: literals("auto", "legacy", "2026-07-28"),
    timeouts: options({ connect: positive, request: positive, stop: positive, kill: positive }),
    restart: orBoolean(options({ limit: count, window: positive, delay: positive, maxDelay: positive })),
    limits: options({ ...limitFields, lineBytes: positive, pages: positive }),
    onElicit: functionSchema,
    trust: literals("operations"),
    trustAnnotations: boolean,
    tools: options({ include: strings, exclude: strings }),
    pinned: orBoolean(stringMap),
    unwrapResults: boolean,
    resources: boolean,
    prompts: boolean,
    outputPolicy,
  }),
  ({ command, url, transport }) => typeof transport === "function" || (command === undefined) !== (url === undefined),
  () => 'must have either "command" or "url".',
);

const busOptions = {
  sign: nonEmpty,
  trustedBus: boolean,
  serve: boolean,
  heartbeat: positive,
  limits,
  prefix: string,
};

function bus<O extends TProperties>(transportOptions: O) {
  return Type.Refine(
    options({ ...busOptions, ...transportOptions }),
    ({ sign, trustedBus }: { sign?: string; trustedBus?: boolean }) => sign !== undefined || trustedBus === true,
    () =>
      'is a bus, on which calls have to be signed. Set "sign" to a key that its peers share, or "trustedBus" to true if ' +
      "every program on the bus may act as any caller.",
  );
}

/** One description for each kind of source. Its first key is the one that no other kind has. */
const sourceSchemas = [
  closed({ modules: string }, sourceOptions),
  openAPISource,
  closed({ mcp: mcpServerSchema }, sourceOptions),
  closed({ mcpConfig: closed({ file: string }, { servers: strings }) }, sourceOptions),
  closed(
    { nats: bus({ servers: Type.Union([string, strings]), connect: anyObject, inboxPrefix: string }) },
    sourceOptions,
  ),
  closed({ redis: bus({ url: string, connect: anyObject, maxQueued: positive }) }, sourceOptions),
  closed(
    { websocket: closed({ url: string }, { auth: closed({ type: literals("bearer"), token: nonEmpty }) }) },
    sourceOptions,
  ),
] as const;

const serve = Type.Refine(
  options({
    host: nonEmpty,
    port: Type.Integer({ minimum: 0, maximum: 65_535, errorMessage: "must be a port: an integer from 0 to 65535" }),
    http: boolean,
    mcp: boolean,
    websocket: boolean,
    console: boolean,
  }),
  ({ http = true, mcp = true, websocket = true }) => http || mcp || websocket,
  () => 'disables http, mcp and websocket. Enable one of them, or remove "serve".',
);

const token = closed({
  hash: Type.String({
    pattern: "^sha256:[0-9a-fA-F]{64}$",
    errorMessage: 'must be "sha256:" and 64 hexadecimal digits. Create a token and its hash with "operations token"',
  }),
  identity: closed({ id: nonEmpty, scopes: strings }, { resources: recordOf(strings), expiresAt: Type.Number() }),
});

const access = Type.Refine(
  options({ tokens: Type.Array(token) }),
  ({ tokens = [] }) => new Set(tokens.map(({ hash }) => hash.toLowerCase())).size === tokens.length,
  () => "contains a hash twice. Create one token per caller.",
);

const rule = Type.Refine(
  closed(
    { match: nonEmpty },
    { type: literals("query", "mutation", "subscription"), requiredScopes: strings, deny: boolean },
  ),
  ({ requiredScopes, deny }) => requiredScopes !== undefined || deny === true,
  () => 'has no effect. Set "requiredScopes" or "deny": true.',
);

const history = options({
  file: nonEmpty,
  keep: Type.String({
    pattern: "^[1-9][0-9]{0,8}[smhd]$",
    errorMessage: 'must be a duration such as "7d", "12h" or "30m"',
  }),
  limit: Type.Integer({ minimum: 1, errorMessage: "must be an integer of 1 or more" }),
  payloads: strings,
});

/** The description of a whole configuration. */
export const configSchema = options({
  $schema: string,
  sources: recordOf(Type.Union([...sourceSchemas])),
  serve,
  access,
  rules: Type.Array(rule),
  history,
});

/** What {@link configSchema} accepts. */
export type DescribedConfig = Static<typeof configSchema>;

/**
 * The client that `npm run lab -- mcp-conformance` tests. It imports the server at the given URL, makes the calls of the
 * scenario, and ends. It logs in if the server requires it.
 */
import { OperationRegistry, type OperationSpec } from "@alkdev/operations";
import { closeMCPClient, createMCPClient, type MCPClientConfig } from "@alkdev/operations/from-mcp";
import { PrivateKeyJwtProvider } from "@modelcontextprotocol/client";
import { HeadlessLogin } from "./headless-login.ts";

type Input = Record<string, unknown>;

interface ScenarioContext {
  toolCalls?: Array<{ name: string; arguments: Input }>;
  client_id?: string;
  client_secret?: string;
  private_key_pem?: string;
  signing_algorithm?: string;
}

const url = process.argv.at(-1)!;
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const isModern = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] === "2026-07-28";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as ScenarioContext;
const login = new HeadlessLogin(
  scenario === "auth/pre-registration"
    ? { client_id: context.client_id!, client_secret: context.client_secret }
    : undefined,
);

const auth = await toAuth();
const client = await loggedIn(() =>
  createMCPClient("conformance", {
    url,
    protocol: isModern ? "auto" : "legacy",
    auth,
    resources: true,
    prompts: true,
    restart: false,
    onElicit: ({ requestedSchema }) => ({ action: "accept", content: defaultsOf(requestedSchema) }),
  }),
);
const registry = new OperationRegistry();
registry.registerAll(client.tools);
for (const [id, input] of planCalls(registry.getAllSpecs())) {
  await loggedIn(() => registry.execute(id, input)).catch((error: unknown) => console.error(`${id}: ${error}`));
}
await closeMCPClient(client);

async function toAuth(): Promise<MCPClientConfig["auth"]> {
  if (scenario === "auth/client-credentials-basic") {
    return {
      type: "clientCredentials",
      clientId: context.client_id!,
      clientSecret: context.client_secret!,
      expectedIssuer: await findIssuer(),
    };
  }
  if (scenario === "auth/client-credentials-jwt") {
    const provider = new PrivateKeyJwtProvider({
      clientId: context.client_id!,
      privateKey: context.private_key_pem!,
      algorithm: context.signing_algorithm!,
    });
    return { type: "provider", provider, expectedIssuer: await findIssuer() };
  }
  if (scenario === "auth/pre-registration") {
    return { type: "provider", provider: login, expectedIssuer: await findIssuer() };
  }
  return scenario.startsWith("auth/") ? { type: "provider", provider: login } : undefined;
}

/**
 * The authorization server that the client's credentials are for. An operator would configure it; here it is
 * discovered.
 */
async function findIssuer(): Promise<string> {
  const { origin, pathname } = new URL(url);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: issuers } = (await response.json()) as { authorization_servers: string[] };
  return issuers[0]!;
}

/** Runs `work`. If it requires a login, completes the login and runs it again. */
async function loggedIn<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 2 || !(await login.finish(url))) throw error;
    }
  }
}

/** Returns the calls of the scenario, or one call of every tool with minimal valid arguments. */
function planCalls(specs: readonly OperationSpec[]): Array<[id: string, input: Input]> {
  if (context.toolCalls) {
    // A null argument means an omitted one: the schemas of these tools do not allow null.
    return context.toolCalls.map((call) => [`conformance.${call.name}`, withoutNull(call.arguments)]);
  }
  if (scenario === "json-schema-2020-12-preservation") {
    const [echo] = specs.filter(({ inputSchema }) => "schema" in propertiesOf(inputSchema));
    const [focal] = specs.filter((spec) => spec !== echo);
    return [[`conformance.${echo!.name}`, { schema: focal!.inputSchema }]];
  }
  return specs.map(({ name, inputSchema }) => [`conformance.${name}`, sampleOf(inputSchema)]);
}

function withoutNull(input: Input): Input {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

function propertiesOf(schema: unknown): Record<string, { type?: string; default?: unknown }> {
  return (schema as { properties?: Record<string, { type?: string; default?: unknown }> }).properties ?? {};
}

function sampleOf(schema: unknown): Input {
  const required = (schema as { required?: string[] }).required ?? [];
  const samples: Record<string, unknown> = {
    string: "text",
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
    object: {},
  };
  return Object.fromEntries(required.map((name) => [name, samples[propertiesOf(schema)[name]?.type ?? "string"]]));
}

function defaultsOf(schema: unknown): Record<string, string | number | boolean> {
  const given = Object.entries(propertiesOf(schema)).filter(([, property]) => property.default !== undefined);
  return Object.fromEntries(given.map(([name, property]) => [name, property.default as string | number | boolean]));
}

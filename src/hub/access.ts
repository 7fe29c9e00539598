import { type Authenticator, bearerTokens, createToken, type StoredToken } from "../auth/index.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { toReason } from "../internal/text.ts";
import type { Identity } from "../operation/index.ts";
import type { OperationRegistry } from "../registry/index.ts";
import type { HubAccessConfig } from "./config.ts";
import { readHubToken, removeState, tokenFile, writeState } from "./state-folder.ts";

const log = logger("hub");

/** The id of the caller that uses the token which the hub created. */
const operatorId = "operator";

/** Scopes of the hub's own operations. */
export const hubScopes = {
  /** Reads the states of sources, and the history of the caller's own calls. */
  read: "hub:read",
  /** Also reads the calls of all callers, and reloads the configuration. */
  admin: "hub:admin",
} as const;

/**
 * Identifies the callers of a hub: by the tokens of its configuration, or, without `access`, by one token that the hub
 * creates for its operator.
 */
export interface HubAccess extends Authenticator {
  /** The token that the hub created; `undefined` if the configuration has `access`. Do not log it. */
  readonly token: string | undefined;
  /** Stores the created token for the command line, as the token of the hub at this URL. A failure is logged. */
  announce(url: string): Promise<void>;
  /** Applies the `access` of a new configuration. Throws a `TypeError` and changes nothing if it is invalid. */
  update(access: HubAccessConfig | undefined): Promise<void>;
  /** Removes the stored token. */
  close(): Promise<void>;
}

/** Options of {@link createAccess}. */
export interface AccessOptions {
  /** The operations whose scopes the operator has. */
  registry: OperationRegistry;
  /** Variables of the environment, which determine the state folder. @default those of the process */
  environment?: NodeJS.ProcessEnv;
}

/** Creates the authenticator of a hub. Throws a `TypeError` for an invalid token. */
export function createAccess(access: HubAccessConfig | undefined, options: AccessOptions): HubAccess {
  return new TokenAccess(access, options);
}

class TokenAccess implements HubAccess {
  readonly #tokens: ReturnType<typeof bearerTokens>;
  readonly #operator: () => Identity;
  readonly #environment: NodeJS.ProcessEnv | undefined;
  #created: ReturnType<typeof createToken> | undefined;
  #url: string | undefined = undefined;

  constructor(access: HubAccessConfig | undefined, { registry, environment }: AccessOptions) {
    this.#environment = environment;
    this.#operator = operatorOf(registry);
    this.#created = access === undefined ? createToken() : undefined;
    this.#tokens = bearerTokens(access === undefined ? [this.#operatorToken(this.#created!)] : (access.tokens ?? []));
  }

  get token(): string | undefined {
    return this.#created?.token;
  }

  readonly authenticate: Authenticator["authenticate"] = (credentials) => {
    const identity = this.#tokens.authenticate(credentials);
    return this.#created === undefined || identity === undefined ? identity : this.#operator();
  };

  describe(): ReturnType<NonNullable<Authenticator["describe"]>> {
    return this.#tokens.describe!();
  }

  onChange(listener: () => void): () => void {
    return this.#tokens.onChange!(listener);
  }

  async announce(url: string): Promise<void> {
    this.#url = url;
    if (this.#created === undefined) return;
    try {
      await writeState(tokenFile(url), `${JSON.stringify({ url, token: this.#created.token })}\n`, this.#environment);
    } catch (error) {
      const message =
        "The command line cannot find the token of this hub: {reason}. Set OPERATIONS_TOKEN in its environment instead.";
      warnVisibly(log, [{ message, properties: { reason: toReason(error) } }]);
    }
  }

  async update(access: HubAccessConfig | undefined): Promise<void> {
    if (access !== undefined) {
      this.#tokens.replace(access.tokens ?? []);
      await this.close();
      this.#created = undefined;
    } else if (this.#created === undefined) {
      this.#created = createToken();
      this.#tokens.replace([this.#operatorToken(this.#created)]);
      if (this.#url !== undefined) await this.announce(this.#url);
    }
  }

  async close(): Promise<void> {
    if (this.#url === undefined || this.#created === undefined) return;
    // Another hub may have started at the same URL in the meantime.
    if ((await readHubToken(this.#url, this.#environment)) !== this.#created.token) return;
    await removeState(tokenFile(this.#url), this.#environment);
  }

  #operatorToken({ hash }: { hash: string }): StoredToken {
    return { hash, identity: { id: operatorId, scopes: [] } }; // `authenticate` returns the operator's scopes.
  }
}

/**
 * Returns a function that returns the identity of the operator, who may call every operation of the registry: it has all
 * scopes and resources that access rules name. Operations with `customAuth` decide themselves.
 */
export function operatorOf(registry: OperationRegistry): () => Identity {
  let identity: Identity | undefined;
  registry.on("change", () => {
    identity = undefined;
  });
  return () => {
    identity ??= createOperator(registry);
    return identity;
  };
}

function createOperator(registry: OperationRegistry): Identity {
  const scopes = new Set<string>(Object.values(hubScopes));
  const resources = new Map<string, Set<string>>();
  for (const { accessControl: access } of registry.getAllSpecs()) {
    for (const scope of access.requiredScopes) scopes.add(scope);
    for (const scope of access.requiredScopesAny ?? []) scopes.add(scope);
    if (access.resourceType === undefined || access.resourceAction === undefined) continue;
    const key = `${access.resourceType}:*`;
    resources.set(key, (resources.get(key) ?? new Set()).add(access.resourceAction));
  }
  const grants = Array.from(resources, ([key, actions]): [string, string[]] => [key, [...actions]]);
  const identity: Identity = { id: operatorId, scopes: [...scopes] };
  return grants.length === 0 ? identity : { ...identity, resources: Object.fromEntries(grants) };
}

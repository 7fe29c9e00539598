import { isDeepStrictEqual } from "node:util";
import { type Authenticator, bearerTokens, createToken } from "../auth/index.ts";
import type { Unsubscribe } from "../from/source.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { toReason } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { CallError, type Identity } from "../operation/index.ts";
import type { OperationRegistry } from "../registry/index.ts";
import { parseHost } from "../serve/headers.ts";
import type { HubAccessConfig } from "./config.ts";
import { hubScopes } from "./rules.ts";
import { readHubToken, removeState, tokenFile, writeState } from "./state-folder.ts";

const log = logger("hub");

/** The id of the caller that uses the token which the hub created. */
const operatorId = "operator";

/**
 * Identifies the callers of a hub: by the tokens of its configuration, or, without `access`, by one token that the hub
 * creates for its operator.
 */
export class HubAccess implements Authenticator {
  readonly #tokens: ReturnType<typeof bearerTokens>;
  readonly #registry: OperationRegistry;
  readonly #operator: () => Identity;
  readonly #environment: NodeJS.ProcessEnv | undefined;
  #created: ReturnType<typeof createToken> | undefined = undefined;
  #url: string | undefined = undefined;

  /** @param environment - Variables that determine the state folder. @default those of the process */
  constructor(access: HubAccessConfig | undefined, registry: OperationRegistry, environment?: NodeJS.ProcessEnv) {
    this.#registry = registry;
    this.#environment = environment;
    this.#operator = operatorOf(registry);
    this.#tokens = bearerTokens(this.#toTokens(access));
  }

  /** The token that the hub created; `undefined` if the configuration has `access`. Do not log it. */
  get token(): string | undefined {
    return this.#created?.token;
  }

  readonly authenticate: Authenticator["authenticate"] = (credentials) => {
    const identity = this.#tokens.authenticate(credentials);
    if (identity === undefined) this.#assertOwnHost(credentials.headers.get("host"));
    return this.#created === undefined || identity === undefined ? identity : this.#operator();
  };

  /** Also calls the listener when the operator has more rights, because there are other operations. */
  onChange(listener: () => void): Unsubscribe {
    let known = this.#operator();
    let isDue = false;
    const compare = () => {
      isDue = false;
      const before = known;
      known = this.#operator();
      if (known !== before && this.#created !== undefined) listener();
    };
    const stops = [
      this.#tokens.onChange!(listener),
      this.#registry.on("change", () => {
        if (!isDue) queueMicrotask(compare); // Once for many operations.
        isDue = true;
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Stores the created token for the command line, as the token of the hub at this URL. A failure is logged. */
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

  /** Applies the `access` of a new configuration. */
  async update(access: HubAccessConfig | undefined): Promise<void> {
    if (access === undefined && this.#created !== undefined) return;
    await this.close();
    this.#tokens.replace(this.#toTokens(access));
    if (this.#url !== undefined) await this.announce(this.#url);
  }

  /** Removes the stored token. */
  async close(): Promise<void> {
    if (this.#url === undefined || this.#created === undefined) return;
    // Another hub may have started at the same URL in the meantime.
    if ((await readHubToken(this.#url, this.#environment)) !== this.#created.token) return;
    await removeState(tokenFile(this.#url), this.#environment);
  }

  /**
   * A web page can make its own name resolve to this machine (DNS rebinding). Callers without a token must therefore use a
   * name of this machine, unless the hub listens for others.
   */
  #assertOwnHost(host: string | null): void {
    const isPublic = this.#url !== undefined && !isLoopbackHost(new URL(this.#url).hostname);
    if (isPublic || host === null || isLoopbackHost(parseHost(host)?.hostname ?? "")) return;
    const message = "Without a token, the hub responds only to requests to a host such as localhost.";
    throw new CallError("ACCESS_DENIED", message, undefined, { mayHaveRun: false });
  }

  #toTokens(access: HubAccessConfig | undefined) {
    this.#created = access === undefined ? createToken() : undefined;
    if (this.#created === undefined) return access?.tokens ?? [];
    return [{ hash: this.#created.hash, identity: { id: operatorId, scopes: [] } }]; // Its scopes are added on use.
  }
}

/**
 * Returns a function that returns the identity of the operator, who may call every operation of the registry: it has all
 * scopes and resources that access rules have named. Operations with `customAuth` decide themselves. The identity is the
 * same object until it has more rights.
 */
export function operatorOf(registry: OperationRegistry): () => Identity {
  const scopes = new Set<string>(Object.values(hubScopes));
  const resources = new Map<string, Set<string>>();
  let identity: Identity = { id: operatorId, scopes: [] };
  let isCurrent = false;
  registry.on("change", () => {
    isCurrent = false;
  });
  return () => {
    if (isCurrent) return identity;
    isCurrent = true;
    for (const { accessControl: access } of registry.getAllSpecs()) {
      for (const scope of [...access.requiredScopes, ...(access.requiredScopesAny ?? [])]) scopes.add(scope);
      if (access.resourceType === undefined || access.resourceAction === undefined) continue;
      const key = `${access.resourceType}:*`;
      resources.set(key, (resources.get(key) ?? new Set()).add(access.resourceAction));
    }
    const grants = Array.from(resources, ([key, actions]): [string, string[]] => [key, [...actions]]);
    const resourcesOrNone = grants.length > 0 && { resources: Object.fromEntries(grants) };
    const next = { id: operatorId, scopes: [...scopes], ...resourcesOrNone };
    if (!isDeepStrictEqual(next, identity)) identity = next;
    return identity;
  };
}

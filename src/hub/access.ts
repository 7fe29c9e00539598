import { type Authenticator, bearerTokens, createToken } from "../auth/index.ts";
import type { Unsubscribe } from "../from/source.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { toReason } from "../internal/text.ts";
import { createOperator } from "../operation/inside.ts";
import type { HubAccessConfig } from "./config.ts";
import { ConsoleSessions } from "./console-sessions.ts";
import { removeHub, storeHub } from "./state-folder.ts";

const log = logger("hub");

/**
 * Identifies the callers of a hub: by the tokens of its configuration, or, without `access`, by one token that the hub
 * creates for its operator.
 */
export class HubAccess implements Authenticator {
  readonly #tokens: ReturnType<typeof bearerTokens>;
  readonly #operator = createOperator();
  /** The people who use the console. */
  readonly sessions = new ConsoleSessions();
  readonly #environment: NodeJS.ProcessEnv | undefined;
  #created: ReturnType<typeof createToken> | undefined = undefined;
  #url: string | undefined = undefined;

  /** @param environment - Variables that determine the state folder. @default those of the process */
  constructor(access: HubAccessConfig | undefined, environment?: NodeJS.ProcessEnv) {
    this.#environment = environment;
    this.#tokens = bearerTokens(this.#toTokens(access));
  }

  /** The token that the hub created; `undefined` if the configuration has `access`. Do not log it. */
  get token(): string | undefined {
    return this.#created?.token;
  }

  readonly authenticate: Authenticator["authenticate"] = (credentials) => {
    if (this.sessions.isSession(credentials)) return this.sessions.authenticate(credentials);
    const identity = this.#tokens.authenticate(credentials);
    return this.#created === undefined || identity === undefined ? identity : this.#operator;
  };

  onChange(listener: () => void): Unsubscribe {
    const stops = [this.#tokens.onChange!(listener), this.sessions.onEnd(listener)];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Creates the code of a link that signs the operator in. Only for a hub whose configuration has no `access`. */
  createCode(): string | undefined {
    if (this.#created === undefined) return undefined;
    const { hash } = this.#created;
    return this.sessions.createCode(() => (this.#created?.hash === hash ? this.#operator : undefined));
  }

  /** Stores the created token for the command line, as the token of the hub at this URL. A failure is logged. */
  async announce(url: string): Promise<void> {
    this.#url = url;
    if (this.#created === undefined) return;
    try {
      await storeHub({ url, token: this.#created.token }, this.#environment);
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
    await removeHub({ url: this.#url, token: this.#created.token }, this.#environment);
  }

  #toTokens(access: HubAccessConfig | undefined) {
    this.#created = access === undefined ? createToken() : undefined;
    if (this.#created === undefined) return access?.tokens ?? [];
    return [{ hash: this.#created.hash, identity: { id: this.#operator.id, scopes: [] } }]; // A copy has no rights.
  }
}

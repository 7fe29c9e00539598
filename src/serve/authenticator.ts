import type { Unsubscribe } from "../from/source.ts";
import type { AuthenticatedIdentity } from "../operation/index.ts";

/** The parts of a request that identify its sender. The same for HTTP, MCP and WebSocket. */
export interface Credentials {
  /** The headers of the request. */
  readonly headers: Pick<Headers, "get" | "has">;
  /** The token of `Authorization: Bearer`, or the token that a browser sends when it opens a WebSocket. */
  readonly token?: string | undefined;
  /** Address of the client: that of the connection, or with `trustProxy` the one that the proxy reports. */
  readonly remoteAddress?: string | undefined;
}

/** A security scheme of an OpenAPI document. */
export type SecurityScheme =
  | {
      /** A scheme of the `Authorization` header. */
      type: "http";
      /** Name of the scheme in the `Authorization` header. */
      scheme: "bearer";
      /** A hint for readers, such as `JWT`. */
      bearerFormat?: string;
      /** Explains the scheme to readers. */
      description?: string;
    }
  | {
      /** A header that contains a key. */
      type: "apiKey";
      /** Keys are never sent in a query string or a cookie. */
      in: "header";
      /** Name of the header. */
      name: string;
      /** Explains the scheme to readers. */
      description?: string;
    };

/** The description of an authenticator in documents for clients. */
export interface AuthenticatorDescription {
  /** Security schemes by name. A caller needs one of them. */
  securitySchemes: Record<string, SecurityScheme>;
  /** Names of the headers that it reads, in lower case. Responses that depend on the caller vary on them. */
  headers: readonly string[];
  /** Issuers of tokens, as URLs, for clients that obtain tokens with OAuth. */
  authorizationServers?: readonly string[];
}

/** Describes an authenticator without `describe()`. */
export const bearerDescription: AuthenticatorDescription = {
  securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
  headers: ["authorization"],
};

/**
 * Identifies the sender of a request. Returns `undefined` when the request contains none of the credentials that it
 * knows. Throws when the request contains them and they are invalid: the request is then refused with 401.
 */
export type IdentifyCaller = (
  credentials: Credentials,
) => AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined>;

/** Identifies the callers of a server. `@alkdev/operations/auth` has ready-made ones. */
export interface Authenticator {
  /** Identifies the sender of a request. */
  readonly authenticate: IdentifyCaller;
  /** Describes the credentials that it accepts, for documents and caches. @default `Authorization: Bearer` */
  describe?(): AuthenticatorDescription;
  /**
   * Calls the listener when credentials are removed or changed. The server then authenticates the senders of open streams
   * and connections again. Those that are refused, or have another id or fewer rights, end, and an earlier expiry applies to
   * the others. New rights and a later expiry apply to new requests.
   */
  onChange?(listener: () => void): Unsubscribe;
  /**
   * Rejects if the authenticator can never accept anyone, because its configuration is invalid. `listen` waits for it and
   * rejects with the same error.
   */
  ready?(): Promise<void>;
}
